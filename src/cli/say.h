/* What the command says: where its tables go, and notes on standard error. */
#ifndef RIDGE_CLI_SAY_H
#define RIDGE_CLI_SAY_H

#include "cli/options.h"
#include "report/page.h"

/* Standard output and standard error hand over whole lines from here on, so that neither breaks into the other's. */
void ridge_say_by_lines(void);

/* The page for the tables of a command: standard output, but standard error when --json - takes that. */
ridge_page ridge_say_page(const ridge_options *options);

/* Columns of the terminal behind the stream, or 80. */
int ridge_say_width(FILE *stream);

/* "ridge: " and a text on standard error: wrapped on a terminal; elsewhere one line, for logs and scripts. */
RIDGE_PRINTF(1, 2) void ridge_say(const char *format, ...);

#endif
