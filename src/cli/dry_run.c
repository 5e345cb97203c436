/* ridge run --dry-run: what would be measured and how long it would take, as a table and as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/bench.h"
#include "cli/say.h"
#include "core/shortage.h"
#include "record/json.h"
#include "report/report.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { DRY_TARGET, DRY_CASE, DRY_VARIANTS, DRY_COLUMNS };
static const ridge_column dry_columns[DRY_COLUMNS] = {
    [DRY_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 20},
    [DRY_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
    [DRY_VARIANTS] = {.header = "variants", .field = "variants", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

static void add_dry(ridge_table *table, const ridge_lab_item *item, const ridge_lab_item *before) {
    char name[RIDGE_CASE_NAME], target[160], *variants = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&variants, &size);
    for (int v = 0; list && v < item->n_variants; v++)
        fprintf(list, "%s%s", v ? " " : "", item->target->variants[item->variants[v]].name);
    (void)ridge_memory_text(list, &variants);
    ridge_case_name(item->target, &item->c, name, sizeof name);
    (void)snprintf(target, sizeof target, "%s:%s", item->target->chapter, item->target->name);
    ridge_table_row(table);
    ridge_table_text(table, DRY_TARGET, target);
    if (before && before->target == item->target) ridge_table_ditto(table, DRY_TARGET);
    ridge_table_text(table, DRY_CASE, name);
    ridge_table_text(table, DRY_VARIANTS, variants);
    free(variants);
}

/* Lists what would be skipped, for --within. */
static void say_passed_over(const ridge_budget *budget, const ridge_page *page) {
    char *text = NULL, name[96];
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    const char *comma = "";
    for (int i = 0; list && i < budget->n; i++) {
        const ridge_planned *p = &budget->cases[i];
        if (p->state == RIDGE_PLAN_STARTED) continue;
        ridge_case_name(p->target, &p->c, name, sizeof name);
        fprintf(list, "%s%s %s", comma, p->target->name, name);
        if (p->measurement > 0) fprintf(list, " (measurement %d)", p->measurement + 1);
        comma = ", ";
    }
    if (ridge_memory_text(list, &text) && *comma)
        ridge_page_say(page, "does not fit --within %g: %s\n", budget->within_s, text);
    free(text);
}

static void say_forecast(const ridge_run *run, ridge_isa isa, double all, const ridge_page *page) {
    const int repeat = run->settings.repeat, n = run->budget.n / repeat, threads = run->settings.threads,
              seconds = (int)all;
    char times[32] = "";
    if (repeat > 1) (void)snprintf(times, sizeof times, ", %d times each", repeat);
    ridge_page_say(page, "%d case%s%s, %d thread%s, %s; about %d:%02d%s\n", n, n == 1 ? "" : "s", times, threads,
                   threads == 1 ? "" : "s", ridge_isa_name(isa), seconds / 60, seconds % 60,
                   run->ceilings.n_levels > 0 ? "" : ", the ceilings' measurement included");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* The items, and the budget that has a case for each of them. */
typedef struct planned_cases {
    const ridge_selection *selection;
    const ridge_budget *budget;
} planned_cases;

static json_t *variant_item(const void *context, int i) {
    const ridge_lab_item *item = context;
    return ridge_json_text(item->target->variants[item->variants[i]].name);
}

static json_t *case_item(const void *context, int i) {
    const planned_cases *all = context;
    const ridge_lab_item *item = &all->selection->items[i];
    const ridge_planned *planned = &all->budget->cases[i];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(item->target, &item->c, name, sizeof name);
    return json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:{s:o, s:o}, s:b}", "target", ridge_json_text(item->target->name),
                     "case", ridge_json_text(name), "dtype", ridge_dtype_name(item->c.dtype), "backend",
                     ridge_backend_name(item->backend), "shape", ridge_json_shape(item->target, &item->c), "variants",
                     ridge_json_array(item->n_variants, variant_item, item), "forecast", "checks_s",
                     ridge_json_number(planned->forecast.checks_s), "least_rounds_s",
                     ridge_json_number(planned->least_rounds * planned->forecast.round_s), "fits",
                     planned->state == RIDGE_PLAN_STARTED);
}

static ridge_status write_json(const ridge_options *o, const ridge_selection *selection, const ridge_run *run,
                               ridge_isa isa, double seconds, ridge_error *error) {
    const planned_cases all = {selection, &run->budget};
    json_t *json = json_pack("{s:s, s:o, s:i, s:s, s:s, s:o, s:b, s:i, s:o}", "schema", "ridge-plan/1", "key",
                             ridge_json_text(run->machine.key), "threads", run->settings.threads, "isa",
                             ridge_isa_name(isa), "mode", run->settings.hot ? "hot" : "cold", "seconds",
                             ridge_json_number(seconds), "ceilings_cached", run->ceilings.n_levels > 0, "repeat",
                             run->settings.repeat, "cases", ridge_json_array(selection->n, case_item, &all));
    const ridge_status status = ridge_write_json(o->json, json, error);
    json_decref(json);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void print_plan(const ridge_options *o, const ridge_selection *selection, const ridge_run *run, ridge_isa isa,
                       double seconds) {
    const ridge_page page = ridge_say_page(o);
    ridge_table *table = ridge_table_new(dry_columns, DRY_COLUMNS);
    for (int i = 0; i < selection->n; i++) add_dry(table, &selection->items[i], i ? &selection->items[i - 1] : NULL);
    ridge_table_print(table, &page);
    ridge_table_free(table);
    say_forecast(run, isa, seconds, &page);
    say_passed_over(&run->budget, &page);
}

ridge_status ridge_bench_dry(const ridge_options *o, ridge_selection *selection, ridge_error *error) {
    static ridge_bench_plan p;
    static ridge_run run; /* large; only the machine, settings and budget are used */
    double seconds;
    RIDGE_TRY(ridge_bench_plan_make(o, selection, &p, error));
    ridge_status status = ridge_lab_forecast(&p.plan, &run, &seconds, error);
    if (status == RIDGE_OK && o->json) status = write_json(o, selection, &run, p.isa, seconds, error);
    if (status == RIDGE_OK) print_plan(o, selection, &run, p.isa, seconds);
    ridge_run_free(&run);
    return status;
}
