/* Tables whose columns are as wide as what is in them. Widths count code points: all that ridge prints has a width of
 * one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

enum { MAX_COLUMNS = 16, GAP = 2 };

typedef struct table_row {
    char *cells[MAX_COLUMNS];
    bool spanning; /* cells[0] runs over all columns */
} table_row;

struct ridge_table {
    int columns, n_rows, capacity;
    char align[MAX_COLUMNS];
    bool broken;     /* memory ran out: print nothing rather than half a table */
    table_row *rows; /* the first one holds the headers */
};

static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80; /* not a continuation byte */
    return width;
}

/* A copy without control characters, which would break the line or the terminal. */
static char *clean_copy(const char *text) {
    char *copy = strdup(text ? text : "");
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    return copy;
}

ridge_table *ridge_table_new(const char *const *headers, const char *align, int columns) {
    ridge_table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
    memcpy(table->align, align, (size_t)table->columns);
    ridge_table_row(table, headers);
    return table;
}

void ridge_table_row(ridge_table *table, const char *const *cells) {
    if (!table || table->broken) return;
    if (table->n_rows == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 16;
        table_row *rows = realloc(table->rows, (size_t)capacity * sizeof *rows);
        table->broken = !rows;
        if (!rows) return;
        table->rows = rows;
        table->capacity = capacity;
    }
    table_row *row = &table->rows[table->n_rows++];
    *row = (table_row){.spanning = table->columns > 1 && !cells[1]};
    for (int c = 0; c < (row->spanning ? 1 : table->columns); c++) {
        row->cells[c] = clean_copy(cells[c]);
        table->broken = table->broken || !row->cells[c];
    }
}

static void print_cell(const char *text, int width, bool right, bool last, FILE *stream) {
    int pad = width - width_of(text);
    if (right) fprintf(stream, "%*s", pad, "");
    fputs(text, stream);
    if (!last) fprintf(stream, "%*s", GAP + (right ? 0 : pad), "");
}

/* Where the row's text ends: what follows would be blanks, which no line should end with. */
static int last_filled(const table_row *row, int columns, const int *width) {
    int last = 0;
    for (int c = 0; c < columns; c++)
        if (width[c] >= 0 && row->cells[c][0]) last = c;
    return last;
}

/* Width of each column; -1 for one that no row under the headers has anything in: it is left out. */
static void measure_columns(const ridge_table *table, int width[MAX_COLUMNS]) {
    for (int c = 0; c < table->columns; c++) {
        width[c] = table->n_rows == 1 ? 0 : -1;
        for (int r = 1; r < table->n_rows; r++) {
            const table_row *row = &table->rows[r];
            int w = row->spanning ? 0 : width_of(row->cells[c]);
            if (w > 0 && w > width[c]) width[c] = w;
        }
        int header = width_of(table->rows[0].cells[c]);
        if (width[c] >= 0 && header > width[c]) width[c] = header;
    }
}

void ridge_table_print(const ridge_table *table, FILE *stream) {
    if (!table || table->broken) return;
    int width[MAX_COLUMNS] = {0};
    measure_columns(table, width);
    for (int r = 0; r < table->n_rows; r++) {
        const table_row *row = &table->rows[r];
        int last = row->spanning ? 0 : last_filled(row, table->columns, width);
        for (int c = 0; c <= last; c++)
            if (row->spanning || width[c] >= 0)
                print_cell(row->cells[c], row->spanning ? 0 : width[c], !row->spanning && table->align[c] == 'r',
                           c == last, stream);
        fputc('\n', stream);
    }
}

void ridge_table_free(ridge_table *table) {
    if (!table) return;
    for (int r = 0; r < table->n_rows; r++)
        for (int c = 0; c < table->columns; c++) free(table->rows[r].cells[c]);
    free(table->rows);
    free(table);
}
