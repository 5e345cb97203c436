/* Tables. One description of the columns and one set of cells give a table that fits the page, CSV, and Markdown.
 *
 * A table that is too wide gives way in steps, the highest rank first: a column shows its short forms (rank `shorten`)
 * or is left out (rank `drop`). Columns that can be cut or broken are narrowed to `least` before anything else is
 * taken. */
#ifndef RIDGE_REPORT_TABLE_H
#define RIDGE_REPORT_TABLE_H

#include "report/page.h"

typedef enum ridge_fit {
    RIDGE_FIT_WHOLE, /* as wide as its cells */
    RIDGE_FIT_CUT,   /* the middle of a cell may become "…" */
    RIDGE_FIT_WRAP,  /* a cell may go on below itself, broken at blanks */
} ridge_fit;

typedef struct ridge_column {
    const char *header; /* NULL: in CSV alone */
    const char *brief;  /* the header's short form, or NULL */
    const char *field;  /* its name in CSV, with the unit: "time_us"; NULL: not in CSV */
    char align;         /* 'l' or 'r' */
    ridge_fit fit;
    int least;         /* columns that cut or broken cells keep */
    int shorten, drop; /* ranks; 0: never */
    bool heading;      /* a line above the rows says it: left out of tables, not of Markdown */
} ridge_column;

typedef struct ridge_table ridge_table;

/* The columns stay the caller's. NULL when memory is out; every function below takes NULL and does nothing. */
ridge_table *ridge_table_new(const ridge_column *columns, int n);
void ridge_table_free(ridge_table *table);

/* A new row, whose cells are empty until they are set. Texts are copied, NULL is "". */
void ridge_table_row(ridge_table *table);
void ridge_table_text(ridge_table *table, int column, const char *text);
void ridge_table_brief(ridge_table *table, int column, const char *text);  /* the short form of the cell */
void ridge_table_data(ridge_table *table, int column, const char *text);   /* in CSV, instead of the cell's text */
void ridge_table_number(ridge_table *table, int column, double value);     /* in CSV; NaN and infinities are empty */
void ridge_table_ditto(ridge_table *table, int column);                    /* as above: a table leaves the cell blank */
void ridge_table_color(ridge_table *table, int column, ridge_color color); /* of the cell */

/* A line over the rows to come, on tables alone; a blank one comes before it. */
void ridge_table_heading(ridge_table *table, const char *text);

/* Prints in the page's format. A column without any cell is left out of tables and Markdown. */
void ridge_table_print(const ridge_table *table, const ridge_page *page);
/* Several tables one below the other; in CSV one, with the columns of all. */
void ridge_tables_print(const ridge_table *const *tables, int n, const ridge_page *page);

#endif
