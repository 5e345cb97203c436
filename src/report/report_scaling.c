/* How time grows with size, below the results of a run over several sizes: a line for each piece of a power law. */
#include <string.h>

#include "record/scaling.h"
#include "report/report.h"
#include "report/text.h"

enum {
    GROWS_TARGET,
    GROWS_CASE,
    GROWS_VARIANT,
    GROWS_FROM,
    GROWS_TO,
    GROWS_EXPONENT,
    GROWS_ERROR,
    GROWS_REGIME,
    COLUMNS
};

static const ridge_column columns[COLUMNS] = {
    [GROWS_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [GROWS_CASE] = {.header = "n in", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [GROWS_VARIANT] =
        {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 13, .shorten = 50},
    [GROWS_FROM] = {.header = "from n", .field = "from", .align = 'r'},
    [GROWS_TO] = {.header = "to n", .field = "to", .align = 'r'},
    [GROWS_EXPONENT] = {.header = "time grows as", .field = "exponent", .align = 'l'},
    [GROWS_ERROR] = {.field = "exponent_error", .align = 'r'},
    [GROWS_REGIME] = {.header = "bound by", .field = "regime", .align = 'l'},
};

static void put_size(ridge_table *table, int column, double size) {
    char text[32];
    (void)snprintf(text, sizeof text, "%.0f", size);
    ridge_table_text(table, column, text);
    ridge_table_number(table, column, size);
}

static void put_exponent(ridge_table *table, const ridge_power_piece *piece) {
    ridge_text power;
    ridge_table_text(table, GROWS_EXPONENT, ridge_text_power(&power, piece->exponent, piece->error));
    ridge_table_number(table, GROWS_EXPONENT, piece->exponent);
    ridge_table_number(table, GROWS_ERROR, piece->error);
}

static void add_piece(ridge_table *table, const ridge_run *run, const ridge_scaling *line, int p) {
    const ridge_result *r = &run->results[line->result[0]];
    const bool last = p + 1 == line->fit.n;
    char name[RIDGE_CASE_NAME], target[160];
    const char *slash = strchr(r->variant->name, '/');
    ridge_scaling_name(run, line, name, sizeof name);
    (void)snprintf(target, sizeof target, "%s:%s", r->target->chapter, r->target->name);
    ridge_table_row(table);
    ridge_table_text(table, GROWS_TARGET, target);
    ridge_table_text(table, GROWS_CASE, name);
    ridge_table_text(table, GROWS_VARIANT, r->variant->name);
    if (slash) ridge_table_brief(table, GROWS_VARIANT, slash + 1);
    if (p > 0) ridge_table_ditto(table, GROWS_CASE), ridge_table_ditto(table, GROWS_VARIANT);
    put_size(table, GROWS_FROM, line->fit.piece[p].begins);
    put_size(table, GROWS_TO, last ? line->size[line->n - 1] : line->fit.piece[p + 1].begins);
    put_exponent(table, &line->fit.piece[p]);
    ridge_table_text(table, GROWS_REGIME, line->regime[p]);
}

static void add_heading(ridge_table *table, const ridge_target *target) {
    char line[300];
    (void)snprintf(line, sizeof line, "%s:%s  time against size", target->chapter, target->name);
    ridge_table_heading(table, line);
}

static void print_lines(const ridge_run *run, const ridge_scalings *s, const ridge_page *page) {
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    const ridge_target *last = NULL;
    for (int i = 0; i < s->n; i++) {
        const ridge_target *target = run->results[s->line[i].result[0]].target;
        if (i == 0 || target != last) add_heading(table, target);
        last = target;
        for (int p = 0; p < s->line[i].fit.n; p++) add_piece(table, run, &s->line[i], p);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
}

void ridge_report_scaling(const ridge_run *run, const ridge_page *page) {
    ridge_scalings scalings;
    if (page->format == RIDGE_FORMAT_CSV) return; /* one file of CSV is one table; JSON has the lines, too */
    if (ridge_run_scalings(run, &scalings) == RIDGE_OK && scalings.n > 0) {
        ridge_page_say(page, "\n");
        print_lines(run, &scalings, page);
    }
    ridge_scalings_free(&scalings);
}
