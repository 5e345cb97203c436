/* ridge run --check and --update-expectations: the expectations of this hardware, before and after a run. */
#ifndef RIDGE_CLI_GATE_H
#define RIDGE_CLI_GATE_H

#include "cli/options.h"
#include "record/gate.h"

enum { RIDGE_EXPECT_PATH = 512 };

/* What the options ask for. All zero: nothing. */
typedef struct ridge_gatekeeper {
    const ridge_options *options;
    char path[RIDGE_EXPECT_PATH];
    json_t *old; /* what the file holds; NULL: there is none yet, or nothing is asked for */
    bool judged;
    ridge_gate gate; /* if judged */
} ridge_gatekeeper;

/* Whether the options go together. */
ridge_status ridge_gatekeeper_options(const ridge_options *options, ridge_error *error);

/* Before a run: reads the expectations, and checks that an update can be written. False: *code is the exit status, and a
 * line on stderr says why. Close in every case. */
bool ridge_gatekeeper_open(const ridge_options *options, ridge_gatekeeper *keeper, int *code);

/* After it: judges the run if --check was given. Errors are told on stderr; the status is then "invalid". */
void ridge_gatekeeper_judge(ridge_gatekeeper *keeper, const ridge_run *run);

/* Prints the verdict, and updates the file if that was asked for. Returns the exit status: that of the check where one was
 * made, else `code`. */
int ridge_gatekeeper_end(ridge_gatekeeper *keeper, const ridge_run *run, const ridge_page *page, int code);
void ridge_gatekeeper_close(ridge_gatekeeper *keeper);

#endif
