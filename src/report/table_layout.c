/* Which columns of a table a page has room for, and how wide each is. */
#include <string.h>

#include "report/table_cells.h"

typedef struct step {
    int rank, column;
    bool drops; /* else shortens */
} step;

typedef struct sizes {
    int full[RIDGE_MAX_COLUMNS], brief[RIDGE_MAX_COLUMNS]; /* widest cell or header */
} sizes;

static int widest(const ridge_table *table, int column, bool brief) {
    int most = ridge_text_columns(ridge_column_header(&table->columns[column], brief));
    for (int r = 0; r < table->n_rows; r++) {
        const ridge_row *row = &table->rows[r];
        if (row->heading || row->cells[column].ditto) continue;
        const char *text = ridge_cell_text(&row->cells[column], brief), *next;
        do { /* a cell of several lines is as wide as the widest */
            char line[1024];
            size_t length = strcspn(text, "\n");
            (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
            int columns = ridge_text_columns(line);
            if (columns > most) most = columns;
            next = text[length] ? text + length + 1 : NULL;
            text = next;
        } while (text);
    }
    return most;
}

static int natural(const sizes *s, const ridge_layout *l, int c) { return l->brief[c] ? s->brief[c] : s->full[c]; }

static int least(const ridge_table *table, const sizes *s, const ridge_layout *l, int c) {
    const ridge_column *column = &table->columns[c];
    int whole = natural(s, l, c);
    return column->fit != RIDGE_FIT_WHOLE && column->least < whole ? column->least : whole;
}

/* Columns that the line needs at the least. */
static int needed(const ridge_table *table, const sizes *s, const ridge_layout *l) {
    int sum = -RIDGE_TABLE_GAP;
    for (int c = 0; c < table->n_columns; c++)
        if (l->shown[c]) sum += least(table, s, l, c) + RIDGE_TABLE_GAP;
    return sum;
}

/* Steps by rank, the first to be taken first. */
static int list_steps(const ridge_table *table, const ridge_layout *l, step *steps) {
    int n = 0;
    for (int c = 0; c < table->n_columns; c++) {
        const ridge_column *column = &table->columns[c];
        if (!l->shown[c]) continue;
        if (column->shorten) steps[n++] = (step){column->shorten, c, false};
        if (column->drop) steps[n++] = (step){column->drop, c, true};
    }
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && steps[k].rank > steps[k - 1].rank; k--) {
            const step swap = steps[k];
            steps[k] = steps[k - 1];
            steps[k - 1] = swap;
        }
    return n;
}

static void take(ridge_layout *l, const step *one, bool back) {
    if (one->drops)
        l->shown[one->column] = back;
    else
        l->brief[one->column] = !back;
}

/* Takes steps until the rest fits, then gives back those, the most valuable first, that turn out to fit as well. */
static void take_steps(const ridge_table *table, const sizes *s, int width, ridge_layout *l) {
    step steps[2 * RIDGE_MAX_COLUMNS];
    int n = list_steps(table, l, steps), taken = 0;
    while (taken < n && needed(table, s, l) > width) take(l, &steps[taken++], false);
    for (int i = taken - 1; i >= 0; i--) {
        take(l, &steps[i], true);
        if (needed(table, s, l) > width) take(l, &steps[i], false);
    }
}

/* The column whose width is the smallest part of what it would take; -1 when all have that. */
static int most_squeezed(const ridge_table *table, const sizes *s, const ridge_layout *l) {
    int found = -1;
    double worst = 1;
    for (int c = 0; c < table->n_columns; c++) {
        if (!l->shown[c] || natural(s, l, c) == 0) continue;
        double part = (double)l->width[c] / natural(s, l, c);
        if (part < worst) worst = part, found = c;
    }
    return found;
}

static int widest_column(const ridge_table *table, const ridge_layout *l) {
    int found = -1;
    for (int c = 0; c < table->n_columns; c++)
        if (l->shown[c] && l->width[c] > 1 && (found < 0 || l->width[c] > l->width[found])) found = c;
    return found;
}

static void set_widths(const ridge_table *table, const sizes *s, int width, ridge_layout *l) {
    int used = needed(table, s, l);
    for (int c = 0; c < table->n_columns; c++) l->width[c] = least(table, s, l, c);
    for (int c; used < width && (c = most_squeezed(table, s, l)) >= 0; used++) l->width[c]++;
    for (int c; used > width && (c = widest_column(table, l)) >= 0; used--) l->width[c]--; /* not even the least fits */
}

void ridge_table_lay_out(const ridge_table *table, int width, ridge_layout *layout) {
    sizes s = {{0}, {0}};
    *layout = (ridge_layout){.width = {0}};
    for (int c = 0; c < table->n_columns; c++) {
        const ridge_column *column = &table->columns[c];
        layout->shown[c] = column->header && !column->heading && (table->n_rows == 0 || ridge_table_fills(table, c));
        if (!layout->shown[c]) continue;
        s.full[c] = widest(table, c, false);
        s.brief[c] = widest(table, c, true);
    }
    take_steps(table, &s, width, layout);
    set_widths(table, &s, width, layout);
}
