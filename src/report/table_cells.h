/* Shared by the table files: cells, and the layout of columns on a page. */
#ifndef RIDGE_REPORT_TABLE_CELLS_H
#define RIDGE_REPORT_TABLE_CELLS_H

#include "report/table.h"

enum { RIDGE_MAX_COLUMNS = 40, RIDGE_TABLE_GAP = 2 };

typedef struct ridge_cell {
    char *text, *brief, *data; /* NULL: not set */
    double number;
    bool has_number, ditto;
    ridge_color color;
} ridge_cell;

typedef struct ridge_row {
    char *heading;     /* NULL: a row of cells */
    ridge_cell *cells; /* one per column */
} ridge_row;

struct ridge_table {
    const ridge_column *columns;
    int n_columns, n_rows, capacity;
    bool broken; /* memory ran out: nothing is printed */
    ridge_row *rows;
};

typedef struct ridge_layout {
    bool shown[RIDGE_MAX_COLUMNS], brief[RIDGE_MAX_COLUMNS];
    int width[RIDGE_MAX_COLUMNS];
} ridge_layout;

/* Text of a cell and of a column's header in a table. Never NULL. */
const char *ridge_cell_text(const ridge_cell *cell, bool brief);
const char *ridge_column_header(const ridge_column *column, bool brief);

/* Whether any row has a value in the column. */
bool ridge_table_fills(const ridge_table *table, int column);

/* Chooses columns, forms and widths for a page of `width` columns. */
void ridge_table_lay_out(const ridge_table *table, int width, ridge_layout *layout);

void ridge_table_print_csv(const ridge_table *const *tables, int n, FILE *stream);
void ridge_table_print_markdown(const ridge_table *table, FILE *stream);

#endif
