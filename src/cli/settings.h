/* --option: values of a target's options, and every combination of several values. */
#ifndef RIDGE_CLI_SETTINGS_H
#define RIDGE_CLI_SETTINGS_H

#include "cli/options.h"

typedef struct ridge_setting {
    int option; /* index into target->options */
    int n;
    double value[RIDGE_MAX_VALUES];
} ridge_setting;

/* What the options of the command line say of one target. */
typedef struct ridge_settings_of {
    ridge_setting setting[RIDGE_MAX_SETTINGS];
    int n;            /* of them; options that the target lacks are not among them */
    int combinations; /* of their values; 1: there is none to vary */
} ridge_settings_of;

/* RIDGE_INVALID: a value that the option does not take, an option given twice, or too many combinations. */
ridge_status ridge_settings_for(const ridge_options *o, const ridge_target *target, ridge_settings_of *settings,
                                ridge_error *error);

/* Sets the options of combination number i; the last option varies fastest. */
void ridge_settings_apply(const ridge_settings_of *settings, int i, double option[RIDGE_MAX_OPTIONS]);

#endif
