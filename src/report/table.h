/* Tables. One description of the columns and one set of cells produce a table that fits the page, CSV, and Markdown.
 *
 * A table that is too wide shrinks in steps, highest rank first: a column shows its short forms (rank `shorten`) or is
 * omitted (rank `drop`). Before that, columns that can be wrapped are narrowed to `least`. */
#ifndef RIDGE_REPORT_TABLE_H
#define RIDGE_REPORT_TABLE_H

#include "report/page.h"

typedef enum ridge_fit {
    RIDGE_FIT_WHOLE, /* as wide as its cells */
    RIDGE_FIT_WRAP,  /* a cell may wrap onto further lines: nothing is left out, since what is may tell rows apart */
} ridge_fit;

typedef struct ridge_column {
    const char *header; /* NULL: only in CSV */
    const char *brief;  /* the header's short form, or NULL */
    const char *field;  /* its name in CSV, with the unit: "time_us"; NULL: not in CSV */
    char align;         /* 'l' or 'r' */
    ridge_fit fit;
    int least;         /* least width of wrapped cells, in columns */
    int shorten, drop; /* ranks; 0: never */
    bool heading;      /* shown in a line above the rows: omitted from tables, not from Markdown */
} ridge_column;

typedef struct ridge_table ridge_table;

/* The caller keeps ownership of the columns. NULL when memory is out; every function below ignores a NULL table. */
ridge_table *ridge_table_new(const ridge_column *columns, int n);
void ridge_table_free(ridge_table *table);

/* Starts a new row with empty cells. Texts are copied; NULL is "". */
void ridge_table_row(ridge_table *table);
void ridge_table_text(ridge_table *table, int column, const char *text);
void ridge_table_brief(ridge_table *table, int column, const char *text);  /* the short form of the cell */
void ridge_table_data(ridge_table *table, int column, const char *text);   /* replaces the cell's text in CSV */
void ridge_table_number(ridge_table *table, int column, double value);     /* in CSV; NaN and infinities are empty */
void ridge_table_ditto(ridge_table *table, int column);                    /* same as above: blank in a table */
void ridge_table_color(ridge_table *table, int column, ridge_color color); /* of the cell */

/* A line above the next rows, in tables only, with a blank line before it. */
void ridge_table_heading(ridge_table *table, const char *text);

/* Prints in the page's format. A column without any text is omitted from tables and Markdown. */
void ridge_table_print(const ridge_table *table, const ridge_page *page);
/* Prints several tables one below the other; in CSV a single table with the columns of all. */
void ridge_tables_print(const ridge_table *const *tables, int n, const ridge_page *page);

#endif
