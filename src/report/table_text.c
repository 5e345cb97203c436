/* A table as CSV (quoted as RFC 4180 says, lines end in LF) and as Markdown. */
#include <math.h>
#include <string.h>

#include "report/table_cells.h"

/* ---- CSV -------------------------------------------------------------------------------------------------------- */

static void print_field(const char *text, FILE *stream) {
    if (!strpbrk(text, "\",\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void print_value(const ridge_cell *cell, FILE *stream) {
    if (cell->data)
        print_field(cell->data, stream);
    else if (!cell->has_number)
        print_field(ridge_cell_text(cell, false), stream);
    else if (isfinite(cell->number))
        fprintf(stream, "%.9g", cell->number);
}

static int field_of(const ridge_table *table, const char *field) {
    for (int c = 0; c < table->n_columns; c++)
        if (table->columns[c].field && strcmp(table->columns[c].field, field) == 0) return c;
    return -1;
}

/* Fields of all tables, each once, in the order of their first appearance. */
static int list_fields(const ridge_table *const *tables, int n, const char **fields) {
    int count = 0;
    for (int t = 0; t < n; t++)
        for (int c = 0; c < tables[t]->n_columns; c++) {
            const char *field = tables[t]->columns[c].field;
            bool known = !field;
            for (int i = 0; i < count && !known; i++) known = strcmp(fields[i], field) == 0;
            if (!known && count < 2 * RIDGE_MAX_COLUMNS) fields[count++] = field;
        }
    return count;
}

void ridge_table_print_csv(const ridge_table *const *tables, int n, FILE *stream) {
    const char *fields[2 * RIDGE_MAX_COLUMNS];
    int count = list_fields(tables, n, fields);
    for (int f = 0; f < count; f++) fprintf(stream, "%s%s", f ? "," : "", fields[f]);
    fputc('\n', stream);
    for (int t = 0; t < n; t++)
        for (int r = 0; r < tables[t]->n_rows; r++) {
            const ridge_row *row = &tables[t]->rows[r];
            if (row->heading) continue;
            for (int f = 0; f < count; f++) {
                int column = field_of(tables[t], fields[f]);
                if (f) fputc(',', stream);
                if (column >= 0) print_value(&row->cells[column], stream);
            }
            fputc('\n', stream);
        }
}

/* ---- Markdown --------------------------------------------------------------------------------------------------- */

static void print_escaped(const char *text, FILE *stream) {
    for (; *text; text++) {
        if (*text == '|' || *text == '\\') fputc('\\', stream);
        if (*text == '\n')
            fputs("<br>", stream);
        else
            fputc(*text, stream);
    }
}

void ridge_table_print_markdown(const ridge_table *table, FILE *stream) {
    bool shown[RIDGE_MAX_COLUMNS];
    for (int c = 0; c < table->n_columns; c++)
        shown[c] = table->columns[c].header && (table->n_rows == 0 || ridge_table_fills(table, c));
    for (int c = 0; c < table->n_columns; c++) {
        if (!shown[c]) continue;
        fputs("| ", stream);
        print_escaped(ridge_column_header(&table->columns[c], false), stream);
        fputc(' ', stream);
    }
    fputs("|\n", stream);
    for (int c = 0; c < table->n_columns; c++)
        if (shown[c]) fputs(table->columns[c].align == 'r' ? "| ---: " : "| --- ", stream);
    fputs("|\n", stream);
    for (int r = 0; r < table->n_rows; r++) {
        if (table->rows[r].heading) continue;
        for (int c = 0; c < table->n_columns; c++) {
            if (!shown[c]) continue;
            fputs("| ", stream);
            print_escaped(ridge_cell_text(&table->rows[r].cells[c], false), stream);
            fputc(' ', stream);
        }
        fputs("|\n", stream);
    }
}
