/* ridge tune: measures the ways of a variant beside each other, and keeps those that beat the predicted one. */
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/output.h"
#include "cli/say.h"
#include "core/shortage.h"
#include "device/file.h"
#include "report/report.h"
#include "report/table.h"
#include "report/text.h"

enum { MOST_PATH = 512, MOST_PATTERN = 256 };

enum { T_TARGET, T_CASE, T_VARIANT, T_WAY, T_TIME, T_LOW, T_HIGH, T_MARK, T_COLUMNS };
static const ridge_column columns[T_COLUMNS] = {
    [T_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 14},
    [T_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12},
    [T_VARIANT] =
        {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12, .drop = 50},
    [T_WAY] = {.header = "way", .field = "way", .align = 'l'},
    [T_TIME] = {.header = "time", .field = "time_us", .align = 'r'},
    [T_LOW] = {.field = "time_low_us", .align = 'r'},
    [T_HIGH] = {.field = "time_high_us", .align = 'r'},
    [T_MARK] = {.header = "", .field = "note", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

/* The results of one variant's ways on one case. */
typedef struct group {
    const ridge_target *target;   /* the build's own, of which the results have an expanded copy */
    const ridge_variant *variant; /* likewise */
    const ridge_result *result;
    int n;
    const ridge_way *predicted;
    int best, first; /* of its results: the fastest, the predicted one's; -1: none */
} group;

static size_t base_length(const ridge_variant *variant) { return strcspn(variant->name, ":"); }

static bool same_group(const ridge_result *a, const ridge_result *b) {
    const size_t n = base_length(a->variant);
    return a->target == b->target && ridge_case_same(&a->c, &b->c) && n == base_length(b->variant) &&
           memcmp(a->variant->name, b->variant->name, n) == 0;
}

/* A launch's time: in a graph where there is one, since a single launch has the frame's cost. */
static ridge_interval time_of(const ridge_result *r) { return r->graph_us.n > 0 ? r->graph_us : r->time_us; }

static const ridge_way *way_of(const ridge_result *r) { return &r->variant->ways[0]; }

/* There is one. */
static const ridge_variant *base_of(const ridge_target *target, const ridge_variant *forced) {
    const size_t n = base_length(forced);
    int v = 0;
    while (v + 1 < target->n_variants &&
           (strlen(target->variants[v].name) != n || memcmp(target->variants[v].name, forced->name, n) != 0))
        v++;
    return &target->variants[v];
}

static group group_at(const ridge_run *run, int at) {
    const ridge_result *r = &run->results[at];
    ridge_abilities here = r->here;
    here.tuned = NULL;
    group g = {.target = ridge_target_find(r->target->name), .result = r, .best = -1, .first = -1};
    g.variant = base_of(g.target, r->variant);
    g.predicted = ridge_variant_dense_way(g.target, g.variant, &r->c, &here);
    for (; at + g.n < run->n_results && same_group(r, &r[g.n]); g.n++) {
        const ridge_result *one = &r[g.n];
        if (!ridge_verdict_timed(one->verdict)) continue;
        if (g.best < 0 || time_of(one).median < time_of(&r[g.best]).median) g.best = g.n;
        if (way_of(one) == g.predicted) g.first = g.n;
    }
    return g;
}

/* The way to keep; NULL: the predicted one is as fast, as far as can be seen. */
static const ridge_way *winner(const group *g) {
    if (g->best < 0 || g->best == g->first) return NULL;
    const ridge_result *best = &g->result[g->best];
    if (g->first >= 0 && !(time_of(best).high < time_of(&g->result[g->first]).low)) return NULL;
    return way_of(best);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void add_result(ridge_table *table, const group *g, const ridge_result *r, bool ditto) {
    char name[RIDGE_CASE_NAME], *note = NULL;
    size_t size;
    ridge_text text;
    const ridge_interval time = time_of(r);
    ridge_case_name(g->target, &r->c, name, sizeof name);
    ridge_table_row(table);
    ridge_table_text(table, T_TARGET, g->target->name);
    ridge_table_text(table, T_CASE, name);
    ridge_table_text(table, T_VARIANT, g->variant->name);
    for (int column = T_TARGET; ditto && column <= T_VARIANT; column++) ridge_table_ditto(table, column);
    ridge_table_text(table, T_WAY, way_of(r)->name);
    const bool timed = ridge_verdict_timed(r->verdict);
    if (timed) {
        ridge_table_text(table, T_TIME, ridge_text_time(&text, time.median));
        ridge_table_number(table, T_TIME, time.median);
        ridge_table_number(table, T_LOW, time.low);
        ridge_table_number(table, T_HIGH, time.high);
    }
    FILE *to = open_memstream(&note, &size);
    if (to && !timed) fprintf(to, "%s%s%s", ridge_verdict_name(r->verdict), r->reason[0] ? ": " : "", r->reason);
    if (to && way_of(r) == g->predicted) fprintf(to, "%spredicted", timed ? "" : "; ");
    if (to && way_of(r) == winner(g)) fprintf(to, "kept");
    if (ridge_memory_text(to, &note)) ridge_table_text(table, T_MARK, note);
    free(note);
}

static void show(const ridge_run *run, const ridge_page *page) {
    ridge_table *table = ridge_table_new(columns, T_COLUMNS);
    for (int at = 0; at < run->n_results;) {
        const group g = group_at(run, at);
        for (int i = 0; i < g.n; i++) add_result(table, &g, &g.result[i], i > 0);
        at += g.n;
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The default file's folders are made; those of a file that was named must be there. */
static ridge_status check_place(const ridge_options *o, const char *path, ridge_error *error) {
    if (!o->tuned) RIDGE_TRY(ridge_file_make_folders(path, error));
    RIDGE_TRY(ridge_file_check(path, error));
    return ridge_output_check(o, error);
}

static ridge_status path_of(const ridge_options *o, char path[MOST_PATH], ridge_error *error) {
    if (!o->tuned) return ridge_tuned_path(path, MOST_PATH, error);
    if (snprintf(path, MOST_PATH, "%s", o->tuned) < MOST_PATH) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "--tuned: the name is longer than %d bytes", MOST_PATH);
}

static ridge_status write_tuned(const ridge_tuned *tuned, const char *path, ridge_error *error) {
    char *text;
    size_t size;
    RIDGE_TRY(ridge_tuned_text(tuned, &text, &size, error));
    const ridge_status status = ridge_file_write(path, text, size, error);
    free(text);
    return status;
}

/* Adds this run's winners; a case that the predicted way wins loses its entry. */
static ridge_status keep_winners(const ridge_run *run, ridge_tuned *tuned, int *kept, ridge_error *error) {
    *kept = 0;
    for (int at = 0; at < run->n_results;) {
        const group g = group_at(run, at);
        at += g.n;
        if (g.best < 0) continue;
        const ridge_way *way = winner(&g);
        *kept += way != NULL;
        RIDGE_TRY(ridge_tuned_set(tuned, g.target, g.variant, &g.result->c, &g.result->here, way, error));
    }
    return RIDGE_OK;
}

/* A variant stands for all of its ways. */
static ridge_status select_ways(const ridge_options *o, ridge_selection *selection, ridge_error *error) {
    char variant[MOST_PATTERN];
    ridge_options ways = *o;
    ways.variant = variant;
    const char *typed = o->variant ? o->variant : "*";
    const int n = snprintf(variant, sizeof variant, "%s%s", typed, strchr(typed, ':') ? "" : ":*");
    if (n < 0 || (size_t)n >= sizeof variant)
        return ridge_fail(error, RIDGE_INVALID, "--variant: the pattern is longer than %d bytes", MOST_PATTERN - 3);
    const ridge_status status = ridge_select(&ways, false, selection, error);
    if (status != RIDGE_NOT_FOUND || !o->variant || strchr(typed, ':')) return status;
    ridge_selection_free(selection);
    RIDGE_TRY(ridge_select(o, false, selection, error)); /* says what there is not, in the words that were typed */
    return ridge_fail(error, RIDGE_NOT_FOUND, "--variant: no selected target has a variant '%.40s' with ways", typed);
}

/* The run points into the selection. */
static ridge_status measure(const ridge_options *o, const char *path, ridge_selection *selection, ridge_run *run,
                            ridge_error *error) {
    ridge_options ways = *o;
    ways.tuned = NULL;
    RIDGE_TRY(select_ways(o, selection, error));
    RIDGE_TRY(check_place(o, path, error));
    return ridge_bench_measure(&ways, selection, run, error);
}

int ridge_cmd_tune(const ridge_options *o) {
    static ridge_run run;
    ridge_selection selection = {0};
    ridge_error error = {0};
    char path[MOST_PATH];
    int kept = 0;
    ridge_tuned *tuned = ridge_tuned_new();
    ridge_status status = tuned ? path_of(o, path, &error) : ridge_fail(&error, RIDGE_NO_MEMORY, "no memory");
    if (status == RIDGE_OK) status = ridge_tuned_read(tuned, path, &error);
    if (status == RIDGE_NOT_FOUND) status = RIDGE_OK;
    if (status == RIDGE_OK) status = measure(o, path, &selection, &run, &error);
    if (run.n_results > 0) {
        const ridge_page page = ridge_say_page(o);
        const ridge_status written = ridge_output_write(o, &run, NULL, &error);
        if (written != RIDGE_OK) status = written;
        show(&run, &page);
        if (status == RIDGE_OK) status = keep_winners(&run, tuned, &kept, &error);
        if (status == RIDGE_OK) status = write_tuned(tuned, path, &error);
        if (status == RIDGE_OK) ridge_say("%d of its cases are in %s, where the predicted way was slower", kept, path);
    }
    const int code = status == RIDGE_OK ? ridge_bench_exit(&run) : ridge_complain(&error);
    ridge_tuned_free(tuned);
    ridge_run_free(&run);
    ridge_selection_free(&selection);
    return code;
}
