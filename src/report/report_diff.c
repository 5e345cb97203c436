/* Two saved runs beside each other: a line for each result that both have. */
#include <math.h>
#include <string.h>

#include "record/saved.h"
#include "report/report.h"
#include "report/text.h"

enum {
    DIFF_TARGET,
    DIFF_CASE,
    DIFF_VARIANT,
    DIFF_BEFORE,
    DIFF_AFTER,
    DIFF_CHANGE,
    DIFF_LOW,
    DIFF_HIGH,
    DIFF_BY,
    DIFF_VERDICT,
    COLUMNS
};

static const ridge_column columns[COLUMNS] = {
    [DIFF_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [DIFF_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [DIFF_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 13},
    [DIFF_BEFORE] = {.header = "before", .field = "before_us", .align = 'r', .drop = 20},
    [DIFF_AFTER] = {.header = "after", .field = "after_us", .align = 'r', .drop = 10},
    [DIFF_CHANGE] =
        {.header = "time after / before", .brief = "change", .field = "change", .align = 'l', .shorten = 50},
    [DIFF_LOW] = {.field = "change_ci_low", .align = 'r'},
    [DIFF_HIGH] = {.field = "change_ci_high", .align = 'r'},
    [DIFF_BY] = {.header = "by", .field = "by", .align = 'l', .drop = 40},
    [DIFF_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
};

static void put_time(ridge_table *table, int column, ridge_interval time) {
    ridge_text text;
    if (time.n == 0) return;
    ridge_table_text(table, column, ridge_text_time(&text, time.median));
    ridge_table_number(table, column, time.median);
}

static void put_change(ridge_table *table, const ridge_diff_line *line) {
    ridge_text text;
    char brief[32];
    if (line->change.n == 0) return;
    ridge_table_text(table, DIFF_CHANGE, ridge_text_ratio(&text, line->change));
    (void)snprintf(brief, sizeof brief, "%.2f×", line->change.median);
    ridge_table_brief(table, DIFF_CHANGE, brief);
    ridge_table_number(table, DIFF_CHANGE, line->change.median);
    ridge_table_number(table, DIFF_LOW, line->change.low);
    ridge_table_number(table, DIFF_HIGH, line->change.high);
    ridge_table_text(table, DIFF_BY, line->paired ? "speedup" : "time");
}

static void add_line(ridge_table *table, const ridge_diff_line *line, bool ditto) {
    static const ridge_color colors[RIDGE_CHANGE_COUNT] = {
        [RIDGE_CHANGE_FASTER] = RIDGE_GREEN, [RIDGE_CHANGE_SAME] = RIDGE_YELLOW, [RIDGE_CHANGE_SLOWER] = RIDGE_RED,
        [RIDGE_CHANGE_TOLD] = RIDGE_DIM,     [RIDGE_CHANGE_BROKEN] = RIDGE_RED,  [RIDGE_CHANGE_MENDED] = RIDGE_GREEN,
        [RIDGE_CHANGE_OTHER] = RIDGE_RED};
    ridge_table_row(table);
    ridge_table_text(table, DIFF_TARGET, line->target);
    ridge_table_text(table, DIFF_CASE, line->c);
    if (ditto) ridge_table_ditto(table, DIFF_CASE);
    ridge_table_text(table, DIFF_VARIANT, line->variant);
    put_time(table, DIFF_BEFORE, line->before);
    put_time(table, DIFF_AFTER, line->after);
    put_change(table, line);
    ridge_table_text(table, DIFF_VERDICT, ridge_change_name(line->verdict));
    ridge_table_color(table, DIFF_VERDICT, colors[line->verdict]);
}

static void say_counts(const ridge_diff *diff, const ridge_page *page) {
    char other[48] = "";
    if (diff->count[RIDGE_CHANGE_OTHER])
        (void)snprintf(other, sizeof other, ", %d of other work", diff->count[RIDGE_CHANGE_OTHER]);
    ridge_page_say(
        page, "\nOf %d results in both runs: %d faster, %d open, %d slower, %d not judged, %d broken, %d mended%s.\n",
        diff->n, diff->count[RIDGE_CHANGE_FASTER], diff->count[RIDGE_CHANGE_SAME], diff->count[RIDGE_CHANGE_SLOWER],
        diff->count[RIDGE_CHANGE_TOLD], diff->count[RIDGE_CHANGE_BROKEN], diff->count[RIDGE_CHANGE_MENDED], other);
    if (diff->only_a || diff->only_b)
        ridge_page_say(page, "Only before: %d. Only after: %d.\n", diff->only_a, diff->only_b);
}

void ridge_report_diff(const ridge_diff *diff, const ridge_page *page) {
    ridge_page_explain(page, "%s: before %s, after %s\n\n", ridge_saved_key(diff->a), ridge_saved_date(diff->a),
                       ridge_saved_date(diff->b));
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    for (int i = 0; i < diff->n; i++) {
        const ridge_diff_line *line = &diff->line[i], *last = i ? line - 1 : NULL;
        const bool group = last && strcmp(last->target, line->target) == 0 && strcmp(last->backend, line->backend) == 0;
        char heading[200];
        (void)snprintf(heading, sizeof heading, "%s on %s", line->target, line->backend);
        if (!group) ridge_table_heading(table, heading);
        add_line(table, line, group && strcmp(last->c, line->c) == 0);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
    say_counts(diff, page);
}
