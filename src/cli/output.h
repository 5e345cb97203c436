/* The files that a run leaves behind. */
#ifndef RIDGE_CLI_OUTPUT_H
#define RIDGE_CLI_OUTPUT_H

#include "cli/options.h"
#include "record/record.h"

/* Before measurements: creates the output directory, and checks that it and the files of --json and --expectations can
 * be written. */
ridge_status ridge_output_check(const ridge_options *options, ridge_error *error);

/* Writes run.json and rooflines to --output, JSON to --json, expectations to their file; lists the files on stderr. */
ridge_status ridge_output_write(const ridge_options *options, const ridge_run *run, ridge_error *error);

#endif
