/* ridge check TARGET FILE[:SYMBOL]: a kernel of the user's own, judged on a target's cases beside ridge's variants. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/bench.h"
#include "cli/foreign_file.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/show.h"
#include "measure/foreign.h"

/* A target with the variants that are timed here: ridge's own on the CPU, then the judged one. */
typedef struct contest {
    ridge_target target;
    ridge_variant variants[RIDGE_LAB_MAX_VARIANTS];
    int judged; /* index of the judged one */
    ridge_foreign_file file;
} contest;

static bool is_own(const ridge_variant *v) {
    return ridge_variant_backend(v) == RIDGE_BACKEND_cpu && v->role != RIDGE_PEER && !ridge_variant_forced(v);
}

static void make_target(contest *x, const ridge_target *target) {
    x->target = *target;
    x->target.variants = x->variants;
    x->target.n_variants = 0;
    for (int v = 0; v < target->n_variants && x->target.n_variants < RIDGE_LAB_MAX_VARIANTS - 1; v++)
        if (is_own(&target->variants[v])) x->variants[x->target.n_variants++] = target->variants[v];
    x->judged = x->target.n_variants;
    x->variants[x->target.n_variants++] = ridge_foreign_variant(x->file.name);
}

/* Kernels take dense, row-major tensors. edges: only those cases, and the judged variant alone; else the others, with all. */
static ridge_status choose_cases(const ridge_options *o, contest *x, bool edges, ridge_selection *selection,
                                 ridge_error *error) {
    static ridge_options options;
    int kept = 0;
    options = *o;
    options.n_patterns = 1;
    options.backend = "cpu";
    if (options.dtype == RIDGE_DTYPE_NONE) options.dtype = RIDGE_F32;
    if (edges) options.sizes.n = 0;
    RIDGE_TRY(ridge_select(&options, edges, selection, error));
    const ridge_target *target = selection->items[0].target;
    for (int i = 0; i < selection->n; i++) {
        ridge_lab_item *item = &selection->items[i];
        if (strcmp(item->target->name, target->name) != 0)
            return ridge_fail(error, RIDGE_INVALID, "check takes one target: '%.60s' selects %.60s and %.60s",
                              o->patterns[0], target->name, item->target->name);
        if (item->c.column_major || item->c.edge != edges) continue;
        selection->items[kept++] = *item;
    }
    selection->n = kept;
    make_target(x, ridge_target_find(target->name));
    for (int i = 0; i < kept; i++) {
        ridge_lab_item *item = &selection->items[i];
        item->target = &x->target;
        item->n_variants = 0;
        for (int v = edges ? x->judged : 0; v < x->target.n_variants; v++) item->variants[item->n_variants++] = v;
    }
    return RIDGE_OK;
}

/* ---- edge cases -------------------------------------------------------------------------------------------------- */

typedef struct tally {
    int right, wrong, skipped;
} tally;

/* Told once: the same reason on every case says nothing more. */
static void say_errors(const ridge_run *run, tally *t) {
    char name[RIDGE_CASE_NAME];
    const char *told = "";
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        const bool is_error = ridge_verdict_is_error(r->verdict) && r->verdict != RIDGE_VERDICT_IMPOSSIBLE;
        t->wrong += is_error;
        t->skipped += r->verdict == RIDGE_VERDICT_SKIPPED;
        t->right += !is_error && r->verdict != RIDGE_VERDICT_SKIPPED;
        ridge_case_name(r->target, &r->c, name, sizeof name);
        if (is_error && strcmp(told, r->reason) != 0)
            ridge_say("%s on %s: %s: %s", r->variant->name, name, ridge_verdict_name(r->verdict), r->reason);
        if (is_error) told = r->reason;
    }
}

/* Two launches of each: a full check, and one more to see that the second is right as well. */
static int check_edges(const ridge_options *o, contest *x, tally *t) {
    static ridge_run run;
    ridge_selection selection = {0};
    ridge_error error = {0};
    static ridge_options few;
    few = *o;
    few.iterations = 1;
    few.repeat = 0;
    few.no_ceilings = true;
    ridge_status status = choose_cases(o, x, true, &selection, &error);
    if (status == RIDGE_NOT_FOUND) status = RIDGE_OK; /* a target may have none of this type */
    if (status == RIDGE_OK && selection.n > 0) status = ridge_bench_measure(&few, &selection, &run, &error);
    say_errors(&run, t);
    ridge_run_free(&run);
    ridge_selection_free(&selection);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}

/* ---- timed cases ------------------------------------------------------------------------------------------------- */

/* ridge's fastest beside the judged one, from the same rounds. */
static void say_pairs(const ridge_run *run, const ridge_page *page) {
    char name[RIDGE_CASE_NAME], interval[64];
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
        if (!ridge_foreign_is(a->variant) || ridge_pair_proof(run, pair) == RIDGE_PROOF_UNTIMED) continue;
        ridge_case_name(a->target, &a->c, name, sizeof name);
        const bool known = isfinite(pair->speedup.low) && isfinite(pair->speedup.high);
        if (known)
            (void)snprintf(interval, sizeof interval, "%.2f–%.2f", pair->speedup.low, pair->speedup.high);
        else
            (void)snprintf(interval, sizeof interval, "too few rounds for an interval");
        ridge_page_say(page, "%s: %s takes %.2f× the time of ridge's %s (%s).\n", name, a->variant->name,
                       pair->speedup.median, b->variant->name, interval);
    }
}

static int time_cases(const ridge_options *o, contest *x, const tally *edges) {
    static ridge_run run;
    ridge_selection selection = {0};
    ridge_error error = {0}, unwritten = {0};
    const ridge_page page = ridge_say_page(o);
    ridge_status status = choose_cases(o, x, false, &selection, &error);
    if (status == RIDGE_OK && selection.n == 0)
        status =
            ridge_fail(&error, RIDGE_NOT_FOUND, "%s has no case of that type on the CPU: give --sizes", x->target.name);
    if (status == RIDGE_OK) status = ridge_bench_measure(o, &selection, &run, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    if (run.n_results > 0) {
        if (ridge_output_write(o, &run, NULL, &unwritten) != RIDGE_OK) code = ridge_complain(&unwritten);
        ridge_show("check", &run, &page);
        ridge_page_say(&page, "\n%s is right on %d edge case%s%s.\n", x->file.name, edges->right,
                       edges->right == 1 ? "" : "s", edges->skipped ? ", and does not take the others" : "");
        say_pairs(&run, &page);
    }
    if (code == RIDGE_EXIT_OK) code = ridge_bench_exit(&run);
    ridge_run_free(&run);
    ridge_selection_free(&selection);
    return code;
}

/* A seed that nobody can know beforehand, unless one is given: a kernel may hold the answers of a known one. */
static void draw_seed(ridge_options *o) {
    if (o->seeded || getrandom(&o->seed, sizeof o->seed, 0) != (ssize_t)sizeof o->seed) return;
    o->seed >>= 1; /* as --seed takes it */
    ridge_say("inputs of --seed %llu", (unsigned long long)o->seed);
}

static int judge(const ridge_options *asked, contest *x) {
    static ridge_options with_seed; /* its list of sizes is too large for the stack */
    const ridge_options *o = &with_seed;
    tally edges = {0};
    with_seed = *asked;
    draw_seed(&with_seed);
    const int code = check_edges(o, x, &edges);
    if (code != RIDGE_EXIT_OK) return code;
    if (edges.wrong > 0) {
        ridge_say("%s is not right on %d of %d edge cases: nothing is timed", x->file.name, edges.wrong,
                  edges.wrong + edges.right + edges.skipped);
        return RIDGE_EXIT_VERDICT;
    }
    return time_cases(o, x, &edges);
}

int ridge_cmd_check(const ridge_options *o) {
    static contest x;
    ridge_error error = {0};
    if (o->n_patterns != 2) {
        (void)ridge_fail(&error, RIDGE_INVALID,
                         "check takes a target and a file, not %d: ridge check TARGET FILE[:SYMBOL]", o->n_patterns);
        return ridge_complain(&error);
    }
    x = (contest){.judged = 0};
    int code = RIDGE_EXIT_OK;
    if (ridge_output_check(o, &error) != RIDGE_OK ||
        ridge_foreign_file_open(o->patterns[1], &x.file, &error) != RIDGE_OK) {
        code = ridge_complain(&error);
    } else {
        ridge_foreign_choose(x.file.library, x.file.symbol);
        code = judge(o, &x);
    }
    ridge_foreign_file_close(&x.file);
    return code;
}
