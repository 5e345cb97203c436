/* Plain verification: every variant of the selection on every case, each way of a variant by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/verification.h"
#include "verify/combination.h"

enum { V_TARGET, V_CASE, V_VARIANT, V_ISA, V_RUNS, V_WORST, V_VERDICT, V_REASON, V_COLUMNS };
static const ridge_column plain_columns[V_COLUMNS] = {
    [V_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 14},
    [V_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12},
    [V_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12},
    [V_ISA] = {.header = "isa", .field = "isa", .align = 'l', .drop = 50},
    [V_RUNS] = {.field = "runs", .align = 'r'},
    [V_WORST] = {.field = "worst", .align = 'r'},
    [V_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [V_REASON] = {.header = "reason", .field = "reason", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

ridge_table *ridge_verify_table(void) { return ridge_table_new(plain_columns, V_COLUMNS); }

static bool interrupted(void) { return *ridge_interrupt_flag() != 0; }

/* Nothing ran: skipped. */
static const char *verdict_of(const ridge_answer *a) {
    if (a->skipped) return "skipped";
    if (a->status != RIDGE_OK) return "failed";
    return !a->got.check.ok ? "wrong" : a->got.runs > 0 ? "ok" : "skipped";
}

/* CSV has a row for every variant; a table has only those that are not ok. */
static void add_row(ridge_verification *v, const ridge_question *q, const ridge_answer *a, const char *name,
                    const char *verdict, const char *why) {
    ridge_table_row(v->table);
    ridge_table_text(v->table, V_TARGET, q->target->name);
    ridge_table_text(v->table, V_CASE, name);
    ridge_table_text(v->table, V_VARIANT, q->variant->name);
    ridge_table_text(v->table, V_ISA, ridge_isa_name(q->isa));
    ridge_table_number(v->table, V_RUNS, a->got.runs);
    ridge_table_number(v->table, V_WORST, a->skipped || a->status != RIDGE_OK ? (double)NAN : a->got.check.worst);
    ridge_table_text(v->table, V_VERDICT, verdict);
    ridge_table_color(v->table, V_VERDICT, a->skipped ? RIDGE_DIM : *why ? RIDGE_RED : RIDGE_GREEN);
    ridge_table_text(v->table, V_REASON, why);
}

static void record(ridge_verification *v, const ridge_question *q, const ridge_answer *a) {
    const char *verdict = verdict_of(a), *why = a->skipped || a->status != RIDGE_OK ? a->text : a->got.check.text;
    const bool ok = strcmp(verdict, "ok") == 0, skipped = strcmp(verdict, "skipped") == 0;
    char name[RIDGE_CASE_NAME];
    if (skipped && ridge_variant_forced(q->variant)) return; /* the way refuses the case: another one takes it */
    ridge_case_name(q->target, &q->c, name, sizeof name);
    v->passed += ok;
    v->skipped += skipped;
    v->failed += !ok && !skipped;
    if (!ok || v->page.format == RIDGE_FORMAT_CSV) add_row(v, q, a, name, verdict, ok ? "" : why);
    const ridge_verified entry = {.target = q->target,
                                  .c = q->c,
                                  .variant = q->variant,
                                  .isa = q->isa,
                                  .way = a->got.way,
                                  .verdict = verdict,
                                  .reason = ok ? "" : why,
                                  .runs = a->got.runs,
                                  .worst = a->got.check.worst,
                                  .digest = a->got.digest};
    ridge_verification_add(v, ridge_json_verified(&entry));
}

/* ---- ways that nothing runs -------------------------------------------------------------------------------------- */

/* Runs of each way of a target, over all cases and instruction sets. */
typedef struct tally {
    int runs[RIDGE_LAB_MAX_VARIANTS];
    bool possible[RIDGE_LAB_MAX_VARIANTS]; /* this machine has code and a device for it */
    char refused[RIDGE_LAB_MAX_VARIANTS][120];
} tally;

static void count(tally *t, const ridge_question *q, const ridge_answer *a) {
    const int variant = (int)(q->variant - q->target->variants);
    if (variant >= RIDGE_LAB_MAX_VARIANTS || !ridge_variant_forced(q->variant)) return;
    t->runs[variant] += a->got.runs;
    if (!ridge_way_obstacle_here(q->variant, q->variant->ways, &q->here) &&
        !ridge_variant_obstacle(q->variant, &q->c, &q->here))
        t->possible[variant] = true;
    if (!t->refused[variant][0]) memcpy(t->refused[variant], a->got.refused, sizeof t->refused[variant]);
}

/* Cases that the caller picked need not run every way. */
static bool is_whole(const ridge_options *o) {
    return o->sizes.n == 0 && o->n_inputs == 0 && o->n_settings == 0 && !o->dtype && !(o->cheap > 0);
}

static void record_unexecuted(ridge_verification *v, const ridge_target *target, const tally *t) {
    if (!is_whole(v->options) || interrupted()) return;
    const ridge_isa isa = v->options->isa >= 0 ? (ridge_isa)v->options->isa : v->machine.isa;
    for (int i = 0; i < target->n_variants && i < RIDGE_LAB_MAX_VARIANTS; i++) {
        if (!t->possible[i] || t->runs[i] > 0) continue;
        char why[200];
        (void)snprintf(why, sizeof why, "no selected case runs this way: add one (refused: %.110s)", t->refused[i]);
        v->failed++;
        const ridge_question q = {.target = target, .variant = &target->variants[i], .isa = isa};
        const ridge_answer none = {.skipped = true};
        add_row(v, &q, &none, "(all)", "not run", why);
        ridge_table_color(v->table, V_VERDICT, RIDGE_RED);
        const ridge_verified entry = {.target = target,
                                      .variant = &target->variants[i],
                                      .isa = isa,
                                      .all_cases = true,
                                      .way = "",
                                      .verdict = "not run",
                                      .reason = why};
        ridge_verification_add(v, ridge_json_verified(&entry));
    }
}

/* ---- one target on one backend ----------------------------------------------------------------------------------- */

/* Questions that are asked together: a grid of the target's variants by cases, or by instruction sets of a case. */
typedef struct grid {
    const ridge_target *target;
    int columns;
    const ridge_lab_item *item[RIDGE_ASK_TOGETHER]; /* of a column */
    ridge_isa isa[RIDGE_ASK_TOGETHER];
    ridge_answer (*answer)[RIDGE_ASK_TOGETHER]; /* [variant][column] */
    bool (*answered)[RIDGE_ASK_TOGETHER];
} grid;

static bool has_variant(const ridge_lab_item *item, int variant) {
    for (int k = 0; k < item->n_variants; k++)
        if (item->variants[k] == variant) return true;
    return false;
}

static bool is_answered(const grid *g, int row, int column) {
    return g->answered[row][column] && g->answer[row][column].got.runs > 0;
}

/* The row, answered before, whose answer is also this one's, because the variant would run that way alone; -1: none. */
static int same_as(const ridge_verification *v, const grid *g, int variant, int column) {
    const ridge_question q = ridge_verification_question(v, g->item[column], variant, g->isa[column]);
    if (q.variant->n_ways < 2 || ridge_variant_dense_obstacle(q.target, q.variant, &q.c, &q.here)) return -1;
    const ridge_way *way = ridge_combinations_sole_way(q.target, q.variant, &q.c, &q.here, q.seed, q.layouts);
    for (int row = 0; way && row < g->target->n_variants; row++) {
        const ridge_variant *one = &g->target->variants[row];
        if (one->ways == way && ridge_variant_forced(one) && is_answered(g, row, column))
            return ridge_combinations_sole_way(q.target, one, &q.c, &q.here, q.seed, q.layouts) ? row : -1;
    }
    return -1;
}

static void ask_row(ridge_verification *v, grid *g, int variant) {
    static ridge_question q[RIDGE_ASK_TOGETHER];
    static ridge_answer got[RIDGE_ASK_TOGETHER];
    int column[RIDGE_ASK_TOGETHER], n = 0;
    for (int c = 0; c < g->columns; c++) {
        if (!has_variant(g->item[c], variant) || same_as(v, g, variant, c) >= 0) continue;
        column[n] = c;
        q[n++] = ridge_verification_question(v, g->item[c], variant, g->isa[c]);
    }
    ridge_ask(q, n, v->options->limit, v->machine.memory_bytes, got);
    if (interrupted()) return;
    for (int i = 0; i < n && !v->why[0]; i++)
        if (got[i].unasked) memcpy(v->why, got[i].text, sizeof v->why);
    for (int i = 0; i < n; i++) {
        g->answer[variant][column[i]] = got[i];
        g->answered[variant][column[i]] = true;
    }
}

static void record_grid(ridge_verification *v, const grid *g, tally *t) {
    for (int variant = 0; variant < g->target->n_variants; variant++)
        for (int c = 0; c < g->columns; c++) {
            if (!has_variant(g->item[c], variant)) continue;
            const int same = same_as(v, g, variant, c), row = same >= 0 ? same : variant;
            if (!g->answered[row][c]) continue;
            const ridge_question q = ridge_verification_question(v, g->item[c], variant, g->isa[c]);
            count(t, &q, &g->answer[row][c]);
            record(v, &q, &g->answer[row][c]);
        }
}

static void verify_grid(ridge_verification *v, grid *g, tally *t) {
    const size_t rows = (size_t)g->target->n_variants;
    g->answer = calloc(rows, sizeof *g->answer);
    g->answered = calloc(rows, sizeof *g->answered);
    if (!g->answer || !g->answered) v->incomplete = true;
    for (int forced = 1; forced >= 0; forced--) /* single ways first */
        for (int variant = 0; !v->incomplete && variant < g->target->n_variants && !interrupted(); variant++)
            if (ridge_variant_forced(&g->target->variants[variant]) == (forced == 1)) ask_row(v, g, variant);
    if (!v->incomplete) record_grid(v, g, t);
    free(g->answer);
    free(g->answered);
}

/* Timed cases are large and use only the best instruction set. Edge cases are small and use all. */
static bool wanted(const ridge_verification *v, const ridge_case *c, ridge_isa isa) {
    if (!ridge_isa_supported(isa)) return false;
    if (v->options->isa >= 0) return (int)isa == v->options->isa;
    return c->edge || isa == v->machine.isa;
}

/* Takes one case of the CPU in all its instruction sets, or several of a GPU or of peers in Python, which have none. Returns
 * the number of items taken. */
static int fill_grid(const ridge_verification *v, const ridge_lab_item *items, int left, grid *g) {
    *g = (grid){.target = items->target};
    if (items->backend != RIDGE_BACKEND_cuda && !ridge_item_is_peers(items)) {
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
            if (wanted(v, &items->c, (ridge_isa)isa))
                g->item[g->columns] = items, g->isa[g->columns++] = (ridge_isa)isa;
        return 1;
    }
    for (int n = 0; n < left && n < RIDGE_ASK_TOGETHER; n++) {
        if (items[n].target != items->target || items[n].backend != items->backend) break;
        if (ridge_item_is_peers(&items[n]) != ridge_item_is_peers(items)) break;
        g->item[n] = &items[n];
        g->isa[n] = v->machine.isa;
        g->columns++;
    }
    return g->columns;
}

/* A drawn case may have had no room on this device: what was left out is asked until the way has run. */
static void verify_spare(ridge_verification *v, const ridge_lab_item *of, tally *t) {
    static grid g;
    for (int i = 0; i < v->n_spare && !interrupted(); i++) {
        const ridge_lab_item *spare = &v->spare[i];
        const int variant = spare->variants[0];
        if (spare->target != of->target || spare->backend != of->backend) continue;
        if (t->runs[variant] > 0 || !t->possible[variant]) continue;
        (void)fill_grid(v, spare, 1, &g);
        verify_grid(v, &g, t);
    }
}

void ridge_verify_all(ridge_verification *v) {
    static tally t;
    static grid g;
    const ridge_selection *s = v->selection;
    for (int i = 0; i < s->n && !interrupted() && !v->why[0];) {
        const ridge_lab_item *item = &s->items[i];
        char name[RIDGE_CASE_NAME], what[RIDGE_CASE_NAME + 160];
        ridge_case_name(item->target, &item->c, name, sizeof name);
        (void)snprintf(what, sizeof what, "%s %s", item->target->name, name);
        if (v->progress.terminal) ridge_progress_step(&v->progress, what);
        if (i == 0 || s->items[i - 1].target != item->target) t = (tally){0};
        i += fill_grid(v, item, s->n - i, &g);
        verify_grid(v, &g, &t);
        if (i >= s->n || s->items[i].target != item->target || s->items[i].backend != item->backend)
            verify_spare(v, item, &t);
        if (i >= s->n || s->items[i].target != item->target) record_unexecuted(v, item->target, &t);
    }
}
