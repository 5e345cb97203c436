#include "cli/contest.h"

#include <string.h>
#include <sys/random.h>

#include "cli/bench.h"
#include "cli/say.h"
#include "measure/foreign.h"
#include "verify/verify.h"

const ridge_options *ridge_contest_options(const ridge_options *o) {
    static ridge_options with_seed; /* its list of sizes is too large for the stack */
    with_seed = *o;
    if (o->seeded || getrandom(&with_seed.seed, sizeof with_seed.seed, 0) != (ssize_t)sizeof with_seed.seed)
        return &with_seed;
    with_seed.seed >>= 1; /* as --seed takes it */
    ridge_say("inputs of --seed %llu", (unsigned long long)with_seed.seed);
    return &with_seed;
}

/* ridge's variants are timed beside kernels of their own kind: a CPU's. */
static bool has_rivals(const ridge_contest *x) {
    return x->file.host == RIDGE_FOREIGN_NATIVE || x->file.host == RIDGE_FOREIGN_PYTHON;
}

bool ridge_contest_timed(const ridge_contest *x) { return x->file.host != RIDGE_FOREIGN_EMULATED; }

static bool is_own(const ridge_variant *v) {
    return ridge_variant_backend(v) == RIDGE_BACKEND_cpu && v->role != RIDGE_PEER && !ridge_variant_forced(v);
}

/* What an emulated case may take, its oracle's FLOP: rows are cut to it, as --work cuts them. */
static const double emulated_flops = 3e6;

static void make_target(ridge_contest *x, const ridge_target *target) {
    x->target = *target;
    x->target.variants = x->variants;
    x->target.n_variants = 0;
    for (int v = 0; v < target->n_variants && x->target.n_variants < RIDGE_LAB_MAX_VARIANTS - 1; v++)
        if (has_rivals(x) && is_own(&target->variants[v])) x->variants[x->target.n_variants++] = target->variants[v];
    x->judged = x->target.n_variants;
    x->variants[x->target.n_variants++] = ridge_foreign_variant(x->file.name);
}

/* Kernels take dense, row-major tensors. edges: only those cases, and the judged variant alone; else the others, with all. */
static ridge_status choose_cases(const ridge_options *o, ridge_contest *x, bool edges, ridge_selection *selection,
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
        if (!ridge_contest_timed(x)) ridge_case_cut(target, emulated_flops, &item->c);
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

ridge_status ridge_contest_run(const ridge_options *o, ridge_contest *x, bool edges, ridge_run *run,
                               ridge_error *error) {
    static ridge_options few;
    ridge_selection selection = {0};
    *run = (ridge_run){0};
    ridge_foreign_file_choose(&x->file);
    ridge_status status = choose_cases(o, x, edges, &selection, error);
    if (edges && status == RIDGE_NOT_FOUND && x->judged > 0) status = RIDGE_OK;
    few = *o;
    if (x->file.host == RIDGE_FOREIGN_GPU) few.no_ceilings = true; /* the CPU's are none of a GPU's kernel */
    if (edges) {
        few.iterations = 1;
        few.repeat = 0;
        few.no_ceilings = true;
    }
    if (status == RIDGE_OK && selection.n > 0)
        status = ridge_bench_measure(&few, &selection, run, error);
    else if (status == RIDGE_OK && !edges)
        status =
            ridge_fail(error, RIDGE_NOT_FOUND, "%s has no case of that type on the CPU: give --sizes", x->target.name);
    ridge_selection_free(&selection);
    return status;
}

bool ridge_contest_refutes(const ridge_result *r, bool edges) {
    return ridge_foreign_is(r->variant) && ridge_verdict_is_error(r->verdict) &&
           !(edges && r->verdict == RIDGE_VERDICT_IMPOSSIBLE);
}
