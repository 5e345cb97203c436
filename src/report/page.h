/* A page is the destination of a report: stream, width, colors, and format of tables. */
#ifndef RIDGE_REPORT_PAGE_H
#define RIDGE_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

typedef enum ridge_format { RIDGE_FORMAT_TABLE, RIDGE_FORMAT_CSV, RIDGE_FORMAT_MARKDOWN } ridge_format;
typedef enum ridge_when { RIDGE_AUTO, RIDGE_ALWAYS, RIDGE_NEVER } ridge_when;
typedef enum ridge_color {
    RIDGE_PLAIN,
    RIDGE_GREEN,
    RIDGE_YELLOW,
    RIDGE_RED,
    RIDGE_DIM,
    RIDGE_BOLD,
} ridge_color;

typedef struct ridge_page {
    FILE *tables;
    FILE *prose; /* everything that is not a table */
    ridge_format format;
    int width, height; /* columns and lines */
    bool wide;         /* tables at full width */
    bool color;
} ridge_page;

/* Tables go to `tables`. With CSV and Markdown, prose goes to `aside`. The width is COLUMNS if set,
 * else the terminal's, else 80; the height is LINES, the terminal's, or 34. With RIDGE_AUTO colors appear on terminals
 * only, unless NO_COLOR is set or TERM is dumb. */
ridge_page ridge_page_on(FILE *tables, FILE *aside, ridge_format format, bool wide, ridge_when color);

/* Columns that text takes: its code points, since every character that ridge prints is one column wide. */
int ridge_text_columns(const char *text);

/* Bytes of the first line of text, broken at blanks to at most `width` columns; a longer word is broken inside, behind
 * a comma, underscore, slash or colon if it has one there. *next: start of the rest, or NULL. A newline in the text ends a line. */
size_t ridge_text_line(const char *text, int width, const char **next);

/* Prints text with every line broken at blanks. A continuation is indented as its line, or to the second column of a
 * two-column line ("  --name   what it does"). */
void ridge_print_wrapped(FILE *stream, int width, const char *text);

#if defined(__GNUC__)
#define RIDGE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define RIDGE_PRINTF(text, first)
#endif
/* Whole lines of prose, wrapped. ridge_page_explain explains the printed table; it prints nothing with CSV and
 * Markdown. */
RIDGE_PRINTF(2, 3) void ridge_page_say(const ridge_page *page, const char *format, ...);
RIDGE_PRINTF(2, 3) void ridge_page_explain(const ridge_page *page, const char *format, ...);

/* Escape sequence that starts a color; "" on a page without colors. ridge_page_end resets. */
const char *ridge_page_start(const ridge_page *page, ridge_color color);
const char *ridge_page_end(const ridge_page *page, ridge_color color);

#endif
