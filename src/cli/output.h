/* The files that a run leaves behind. */
#ifndef RIDGE_CLI_OUTPUT_H
#define RIDGE_CLI_OUTPUT_H

#include "cli/options.h"
#include "record/gate.h"

/* Before measurements: creates the output directory, and checks that it and the file of --json can be
 * written. */
ridge_status ridge_output_check(const ridge_options *options, ridge_error *error);

/* Writes run.json and rooflines to --output, JSON to --json; lists the files on stderr. gate: the verdict
 * of --check, a field of the JSON; NULL: none. */
ridge_status ridge_output_write(const ridge_options *options, const ridge_run *run, const ridge_gate *gate,
                                ridge_error *error);

#endif
