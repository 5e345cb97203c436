/* Runs gnuplot as a filter: script in, picture out. */
#ifndef RIDGE_REPORT_GNUPLOT_H
#define RIDGE_REPORT_GNUPLOT_H

#include <stdio.h>

#include "ridge/status.h"

/* Runs gnuplot on the script; *output is its standard output; the caller frees it. RIDGE_UNSUPPORTED without gnuplot;
 * RIDGE_FAILED with gnuplot's message if it rejects the script. */
ridge_status ridge_gnuplot_run(const char *script, size_t size, char **output, size_t *output_size, ridge_error *error);

/* Writes text as a gnuplot string in single quotes: only the quote is special; it is doubled. */
void ridge_gnuplot_quote(FILE *script, const char *text);

#endif
