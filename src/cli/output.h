/* The files that a run leaves behind. */
#ifndef RIDGE_CLI_OUTPUT_H
#define RIDGE_CLI_OUTPUT_H

#include "cli/options.h"
#include "record/record.h"

/* Creates the output directory and checks that it is writable, before measurements. */
ridge_status ridge_output_check(const ridge_options *options, ridge_error *error);

/* Writes run.json and rooflines to --output, JSON to --json, expectations to their file; lists the files on stderr. */
ridge_status ridge_output_write(const ridge_options *options, const ridge_run *run, ridge_error *error);

#endif
