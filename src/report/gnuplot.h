/* gnuplot as a filter: a script in, a picture out. */
#ifndef RIDGE_REPORT_GNUPLOT_H
#define RIDGE_REPORT_GNUPLOT_H

#include <stdio.h>

#include "ridge/status.h"

/* Runs gnuplot on the script; *output is malloc'ed, what it wrote to standard output. RIDGE_UNSUPPORTED where there is
 * none, RIDGE_FAILED with gnuplot's own words when it did not like the script. */
ridge_status ridge_gnuplot_run(const char *script, size_t size, char **output, size_t *output_size, ridge_error *error);

/* Writes text as a gnuplot string in single quotes: nothing in it is special but the quote, which is doubled. */
void ridge_gnuplot_quote(FILE *script, const char *text);

#endif
