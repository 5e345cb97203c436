/* The gate of ridge run --check: a line for each result that was expected, then why something did not pass. */
#include <math.h>
#include <string.h>

#include "record/saved.h"
#include "report/report.h"
#include "report/text.h"

enum {
    GATE_TARGET,
    GATE_CASE,
    GATE_VARIANT,
    GATE_CHANGE,
    GATE_LOW,
    GATE_HIGH,
    GATE_BEST,
    GATE_SEEN,
    GATE_VERDICT,
    COLUMNS
};

static const ridge_column columns[COLUMNS] = {
    [GATE_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [GATE_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [GATE_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 13},
    [GATE_CHANGE] = {.header = "time / expected", .brief = "change", .field = "change", .align = 'l', .shorten = 50},
    [GATE_LOW] = {.field = "change_ci_low", .align = 'r'},
    [GATE_HIGH] = {.field = "change_ci_high", .align = 'r'},
    [GATE_BEST] = {.header = "/ best", .field = "since_best", .align = 'r', .drop = 20},
    [GATE_SEEN] = {.header = "sees from", .field = "detectable_pct", .align = 'r', .drop = 10},
    [GATE_VERDICT] = {.header = "gate", .field = "gate", .align = 'l'},
};

static void put_ratios(ridge_table *table, const ridge_gate_line *line) {
    ridge_text text;
    char brief[32];
    if (line->now->change.n > 0) {
        ridge_table_text(table, GATE_CHANGE, ridge_text_ratio(&text, line->now->change));
        (void)snprintf(brief, sizeof brief, "%.2f×", line->now->change.median);
        ridge_table_brief(table, GATE_CHANGE, brief);
        ridge_table_number(table, GATE_CHANGE, line->now->change.median);
        ridge_table_number(table, GATE_LOW, line->now->change.low);
        ridge_table_number(table, GATE_HIGH, line->now->change.high);
    }
    if (line->since_best.n > 0) {
        (void)snprintf(brief, sizeof brief, "%.2f×", line->since_best.median);
        ridge_table_text(table, GATE_BEST, brief);
        ridge_table_number(table, GATE_BEST, line->since_best.median);
    }
    if (isfinite(line->detectable)) {
        (void)snprintf(brief, sizeof brief, "+%.1f %%", 100 * line->detectable);
        ridge_table_text(table, GATE_SEEN, brief);
        ridge_table_number(table, GATE_SEEN, 100 * line->detectable);
    }
}

static void add_line(ridge_table *table, const ridge_gate_line *line, bool ditto) {
    static const ridge_color colors[RIDGE_GATE_COUNT] = {[RIDGE_GATE_UNJUDGED] = RIDGE_DIM,
                                                         [RIDGE_GATE_PASSED] = RIDGE_GREEN,
                                                         [RIDGE_GATE_INCONCLUSIVE] = RIDGE_YELLOW,
                                                         [RIDGE_GATE_REGRESSION] = RIDGE_RED,
                                                         [RIDGE_GATE_INVALID] = RIDGE_RED};
    ridge_table_row(table);
    ridge_table_text(table, GATE_TARGET, line->now->target);
    ridge_table_text(table, GATE_CASE, line->now->c);
    if (ditto) ridge_table_ditto(table, GATE_CASE);
    ridge_table_text(table, GATE_VARIANT, line->now->variant);
    put_ratios(table, line);
    ridge_table_text(table, GATE_VERDICT, ridge_gate_name(line->verdict));
    ridge_table_color(table, GATE_VERDICT, colors[line->verdict]);
}

static void say_reasons(const ridge_gate *gate, const ridge_page *page) {
    for (int i = 0; i < gate->n; i++) {
        const ridge_gate_line *line = &gate->line[i];
        if (!line->reason[0]) continue;
        ridge_page_say(page, "%s %s, %s: %s\n", line->now->target, line->now->c, line->now->variant, line->reason);
    }
    if (gate->reason[0]) ridge_page_say(page, "%s\n", gate->reason);
}

void ridge_report_gate(const ridge_gate *gate, const char *path, const ridge_page *page) {
    ridge_page_explain(page, "\nAgainst %s of %s:\n\n", path, ridge_saved_date(gate->now.a));
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    for (int i = 0; i < gate->n; i++) {
        const ridge_diff_line *line = gate->line[i].now, *last = i ? gate->line[i - 1].now : NULL;
        const bool group = last && strcmp(last->target, line->target) == 0 && strcmp(last->backend, line->backend) == 0;
        char heading[200];
        (void)snprintf(heading, sizeof heading, "%s on %s", line->target, line->backend);
        if (!group) ridge_table_heading(table, heading);
        add_line(table, &gate->line[i], group && strcmp(last->c, line->c) == 0);
    }
    if (gate->n > 0) ridge_table_print(table, page);
    ridge_table_free(table);
    if (gate->n > 0) ridge_page_say(page, "\n");
    say_reasons(gate, page);
    ridge_page_say(
        page,
        "The gate: %s. Of %d expected results %d passed, %d inconclusive, %d slower, %d invalid, %d not judged.\n",
        ridge_gate_name(gate->verdict), gate->n, gate->count[RIDGE_GATE_PASSED], gate->count[RIDGE_GATE_INCONCLUSIVE],
        gate->count[RIDGE_GATE_REGRESSION], gate->count[RIDGE_GATE_INVALID], gate->count[RIDGE_GATE_UNJUDGED]);
    if (gate->unexpected > 0)
        ridge_page_say(page, "Nothing is expected yet of %d more: accept them with --update-expectations.\n",
                       gate->unexpected);
}
