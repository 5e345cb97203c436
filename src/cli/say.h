/* Output of the command: the page of its tables, and notes on standard error. */
#ifndef RIDGE_CLI_SAY_H
#define RIDGE_CLI_SAY_H

#include "cli/options.h"
#include "report/page.h"

/* Makes standard output and standard error line-buffered, so that their lines do not mix. */
void ridge_say_by_lines(void);

/* The page for a command's tables: standard output, or standard error with --json -. */
ridge_page ridge_say_page(const ridge_options *options);

/* Width of the stream's terminal in columns, or 80. */
int ridge_say_width(FILE *stream);

/* Prints "ridge: " and a text on standard error: wrapped on a terminal, else one line for logs and scripts. */
RIDGE_PRINTF(1, 2) void ridge_say(const char *format, ...);

#endif
