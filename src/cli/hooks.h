/* --prepare and --cleanup: shell commands around each case. */
#ifndef RIDGE_CLI_HOOKS_H
#define RIDGE_CLI_HOOKS_H

#include "cli/options.h"
#include "lab/lab.h"

/* The hooks of the options, as the lab calls them. A command finds the case in RIDGE_TARGET, RIDGE_CASE and
 * RIDGE_BACKEND; what it prints goes to standard error. RIDGE_FAILED: it ended with another status than 0. The options
 * must outlive them. */
ridge_lab_hooks ridge_hooks(const ridge_options *options);

#endif
