/* The table of ridge profile: a line a kernel, and below it what limits it, in words. */
#include <math.h>
#include <stdio.h>

#include "report/report.h"
#include "report/text.h"

enum { OF_TARGET, OF_CASE, OF_VARIANT, OF_KERNEL, OF_TIME, OF_DRAM, OF_MODEL, OF_L2, OF_PCT };
static const struct {
    const char *header;
    ridge_count count;
} pcts[] = {{"DRAM %", RIDGE_COUNT_DRAM_PCT},    {"L2 %", RIDGE_COUNT_L2_PCT},
            {"L1 %", RIDGE_COUNT_L1_PCT},        {"tensor %", RIDGE_COUNT_TENSOR_PCT},
            {"issue %", RIDGE_COUNT_ISSUE_PCT},  {"warps %", RIDGE_COUNT_WARPS_PCT},
            {"registers", RIDGE_COUNT_REGISTERS}};
enum { PCTS = sizeof pcts / sizeof *pcts, COLUMNS = OF_PCT + PCTS };

static void columns_of(ridge_column *columns) {
    static const ridge_column first[OF_PCT] = {
        [OF_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
        [OF_CASE] = {.header = "case", .field = "case", .align = 'l', .heading = true},
        [OF_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .heading = true},
        [OF_KERNEL] = {.header = "kernel", .field = "kernel", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12},
        [OF_TIME] = {.header = "time", .field = "time_us", .align = 'r'},
        [OF_DRAM] = {.header = "DRAM", .field = "dram_bytes", .align = 'r'},
        [OF_MODEL] = {.header = "declared", .field = "declared_bytes", .align = 'r', .drop = 50},
        [OF_L2] = {.header = "L2", .field = "l2_bytes", .align = 'r', .drop = 40},
    };
    for (int i = 0; i < OF_PCT; i++) columns[i] = first[i];
    for (int i = 0; i < PCTS; i++)
        columns[OF_PCT + i] = (ridge_column){
            .header = pcts[i].header, .field = ridge_counters[pcts[i].count].field, .align = 'r', .drop = 10 + i};
}

static void put_bytes(ridge_table *table, int column, double bytes) {
    ridge_text text;
    if (isnan(bytes)) return;
    ridge_table_text(table, column, ridge_text_bytes(&text, bytes));
    ridge_table_number(table, column, bytes);
}

static void add_heading(ridge_table *table, const ridge_profile *p, const char *of, const char *variant) {
    char text[640];
    (void)snprintf(text, sizeof text, "%s %s on %s", p->target->name, variant, of);
    if (p->place == 0) ridge_table_heading(table, text);
}

static void add(ridge_table *table, const ridge_profile *p) {
    ridge_text text;
    char of[RIDGE_CASE_NAME], variant[160];
    ridge_case_name(p->target, p->c, of, sizeof of);
    (void)snprintf(variant, sizeof variant, "%s%s%s", p->variant->name, p->way ? ":" : "", p->way ? p->way->name : "");
    add_heading(table, p, of, variant);
    ridge_table_row(table);
    ridge_table_text(table, OF_TARGET, p->target->name);
    ridge_table_text(table, OF_CASE, of);
    ridge_table_text(table, OF_VARIANT, variant);
    ridge_table_text(table, OF_KERNEL, p->kernel);
    ridge_table_text(table, OF_TIME, ridge_text_time(&text, p->value[RIDGE_COUNT_NS] / 1e3));
    ridge_table_number(table, OF_TIME, p->value[RIDGE_COUNT_NS] / 1e3);
    put_bytes(table, OF_DRAM, p->value[RIDGE_COUNT_DRAM_READ] + p->value[RIDGE_COUNT_DRAM_WRITTEN]);
    if (p->place == 0) put_bytes(table, OF_MODEL, p->model);
    put_bytes(table, OF_L2, p->value[RIDGE_COUNT_L2]);
    for (int i = 0; i < PCTS; i++) {
        const double value = p->value[pcts[i].count];
        char number[24];
        if (isnan(value)) continue;
        (void)snprintf(number, sizeof number, "%.0f", value);
        ridge_table_text(table, OF_PCT + i, number);
        ridge_table_number(table, OF_PCT + i, value);
    }
}

void ridge_report_profile(const ridge_profile *profiles, int n, const ridge_page *page) {
    ridge_column columns[COLUMNS];
    char text[400];
    columns_of(columns);
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    for (int i = 0; i < n; i++) add(table, &profiles[i]);
    ridge_table_print(table, page);
    ridge_table_free(table);
    ridge_page_explain(page, "\n");
    for (int i = 0; i < n; i++) {
        ridge_profile_explain(&profiles[i], text, sizeof text);
        ridge_page_explain(page, "%s, %s: %s.\n", profiles[i].variant->name, profiles[i].kernel, text);
    }
}
