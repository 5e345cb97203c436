/* Cells of a table, and their printing on a page. */
#include "report/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortage.h"
#include "report/table_cells.h"

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* A copy without control characters, which would break the line or the terminal. A newline stays. */
static char *clean_copy(const char *text) {
    char *copy = strdup(text ? text : "");
    for (char *p = copy; p && *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f) *p = ' ';
    return copy;
}

ridge_table *ridge_table_new(const ridge_column *columns, int n) {
    ridge_table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns;
    table->n_columns = n < RIDGE_MAX_COLUMNS ? n : RIDGE_MAX_COLUMNS;
    return table;
}

static ridge_row *add_row(ridge_table *table) {
    if (!table || table->broken) return NULL;
    if (table->n_rows == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 16;
        ridge_row *rows = realloc(table->rows, (size_t)capacity * sizeof *rows);
        table->broken = !rows;
        if (!rows) return NULL;
        table->rows = rows;
        table->capacity = capacity;
    }
    ridge_row *row = &table->rows[table->n_rows++];
    *row = (ridge_row){.cells = NULL};
    return row;
}

void ridge_table_row(ridge_table *table) {
    ridge_row *row = add_row(table);
    if (!row) return;
    row->cells = calloc((size_t)table->n_columns, sizeof *row->cells);
    table->broken = !row->cells;
}

void ridge_table_heading(ridge_table *table, const char *text) {
    ridge_row *row = add_row(table);
    if (!row) return;
    row->heading = clean_copy(text);
    table->broken = !row->heading;
}

/* A cell of the last row; NULL where there is none. */
static ridge_cell *cell_at(ridge_table *table, int column) {
    if (!table || table->broken || table->n_rows == 0 || column < 0 || column >= table->n_columns) return NULL;
    ridge_cell *cells = table->rows[table->n_rows - 1].cells;
    return cells ? &cells[column] : NULL;
}

static void set(ridge_table *table, char **place, const char *text) {
    free(*place);
    *place = clean_copy(text);
    table->broken = table->broken || !*place;
}

void ridge_table_text(ridge_table *table, int column, const char *text) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) set(table, &cell->text, text);
}

void ridge_table_brief(ridge_table *table, int column, const char *text) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) set(table, &cell->brief, text);
}

void ridge_table_data(ridge_table *table, int column, const char *text) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) set(table, &cell->data, text);
}

void ridge_table_number(ridge_table *table, int column, double value) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) cell->number = value, cell->has_number = true;
}

void ridge_table_ditto(ridge_table *table, int column) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) cell->ditto = true;
}

void ridge_table_color(ridge_table *table, int column, ridge_color color) {
    ridge_cell *cell = cell_at(table, column);
    if (cell) cell->color = color;
}

void ridge_table_free(ridge_table *table) {
    if (!table) return;
    for (int r = 0; r < table->n_rows; r++) {
        ridge_row *row = &table->rows[r];
        for (int c = 0; row->cells && c < table->n_columns; c++) {
            free(row->cells[c].text);
            free(row->cells[c].brief);
            free(row->cells[c].data);
        }
        free(row->cells);
        free(row->heading);
    }
    free(table->rows);
    free(table);
}

const char *ridge_cell_text(const ridge_cell *cell, bool brief) {
    if (brief && cell->brief) return cell->brief;
    return cell->text ? cell->text : "";
}

const char *ridge_column_header(const ridge_column *column, bool brief) {
    if (brief && column->brief) return column->brief;
    return column->header ? column->header : "";
}

bool ridge_table_fills(const ridge_table *table, int column) {
    for (int r = 0; r < table->n_rows; r++)
        if (table->rows[r].cells && ridge_cell_text(&table->rows[r].cells[column], false)[0]) return true;
    return false;
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

/* One line of a cell. */
typedef struct piece {
    const char *start;
    int length, columns;
} piece;

static int columns_of(const char *text, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* The next line of a cell that is broken; *rest becomes NULL behind the last one. */
static piece next_piece(const char **rest, int width) {
    const char *start = *rest;
    if (!start) return (piece){"", 0, 0};
    size_t length = ridge_text_line(start, width, rest);
    while (length > 0 && start[length - 1] == ' ') length--;
    return (piece){start, (int)length, columns_of(start, length)};
}

static void print_piece(const piece *p, int width, bool right, bool last, ridge_color color, const ridge_page *page) {
    int pad = width - p->columns;
    if (right) fprintf(page->tables, "%*s", pad, "");
    fprintf(page->tables, "%s%.*s%s", ridge_page_start(page, color), p->length, p->start, ridge_page_end(page, color));
    if (!last) fprintf(page->tables, "%*s", RIDGE_TABLE_GAP + (right ? 0 : pad), "");
}

/* What is printed of a row, line by line. */
typedef struct printing {
    const ridge_table *table;
    const ridge_layout *layout;
    const ridge_page *page;
    const char *rest[RIDGE_MAX_COLUMNS]; /* NULL: nothing more */
} printing;

/* One line; false when nothing was left to print. */
static bool print_line(printing *p, const ridge_row *row, ridge_color all) {
    piece pieces[RIDGE_MAX_COLUMNS] = {{"", 0, 0}};
    int last = -1;
    bool any = false;
    for (int c = 0; c < p->table->n_columns; c++) {
        if (!p->layout->shown[c]) continue;
        any = any || p->rest[c];
        pieces[c] = next_piece(&p->rest[c], p->layout->width[c]);
        if (pieces[c].length) last = c;
    }
    if (!any) return false;
    for (int c = 0; c <= last; c++)
        if (p->layout->shown[c])
            print_piece(&pieces[c], p->layout->width[c], p->table->columns[c].align == 'r', c == last,
                        row ? row->cells[c].color : all, p->page);
    fputc('\n', p->page->tables);
    return true;
}

/* row NULL: the headers. */
static void print_row(printing *p, const ridge_row *row) {
    for (int c = 0; c < p->table->n_columns; c++) {
        const ridge_column *column = &p->table->columns[c];
        const ridge_layout *l = p->layout;
        const char *text = "";
        if (!row)
            text = ridge_column_header(column, l->brief[c]);
        else if (!row->cells[c].ditto)
            text = ridge_cell_text(&row->cells[c], l->brief[c]);
        p->rest[c] = text;
    }
    while (print_line(p, row, RIDGE_DIM)) continue;
}

static void print_heading(const char *text, const ridge_page *page, int width) {
    fputc('\n', page->tables);
    fputs(ridge_page_start(page, RIDGE_BOLD), page->tables);
    ridge_print_wrapped(page->tables, width, text);
    fputs(ridge_page_end(page, RIDGE_BOLD), page->tables);
}

static void print_table(const ridge_table *table, const ridge_page *page) {
    const int width = page->wide ? INT_MAX / 2 : page->width;
    ridge_layout layout;
    ridge_table_lay_out(table, width, &layout);
    printing p = {.table = table, .layout = &layout, .page = page};
    print_row(&p, NULL);
    for (int r = 0; r < table->n_rows; r++) {
        if (table->rows[r].heading)
            print_heading(table->rows[r].heading, page, width);
        else
            print_row(&p, &table->rows[r]);
    }
}

void ridge_table_print(const ridge_table *table, const ridge_page *page) { ridge_tables_print(&table, 1, page); }

void ridge_tables_print(const ridge_table *const *tables, int n, const ridge_page *page) {
    for (int i = 0; i < n; i++)
        if (!tables[i] || tables[i]->broken) {
            ridge_shortage_note();
            return;
        }
    if (page->format == RIDGE_FORMAT_CSV) {
        ridge_table_print_csv(tables, n, page->tables);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (i) fputc('\n', page->tables);
        if (page->format == RIDGE_FORMAT_TABLE)
            print_table(tables[i], page);
        else
            ridge_table_print_markdown(tables[i], page->tables);
    }
}
