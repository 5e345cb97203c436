#include "verify/combination.h"

#include "verify/check.h"

/* Oracle FLOP below which every combination runs. Above it, a subset runs that covers every fill and every layout
 * property. */
#define CHEAP_COST 2e7

/* Odd paddings give each row another alignment. Operands that lie elsewhere differ from each other in that, too:
 * kernels that move whole pieces of 16 bytes have to shift one against the other. */
const ridge_combination ridge_combinations[RIDGE_COMBINATIONS] = {
    {"exact fill, dense", RIDGE_EXACT, {0, 0, 0}, RIDGE_RUN_ALWAYS},
    {"random fill, dense", RIDGE_RANDOM, {0, 0, 0}, RIDGE_RUN_ALWAYS},
    {"exact fill, padded rows", RIDGE_EXACT, {5, 0, 0}, RIDGE_RUN_CHEAP},
    {"random fill, padded rows", RIDGE_RANDOM, {16, 0, 0}, RIDGE_RUN_CHEAP},
    {"exact fill, misaligned", RIDGE_EXACT, {0, 7, 0}, RIDGE_RUN_CHEAP},
    {"random fill, each operand elsewhere", RIDGE_RANDOM, {0, 1, 1}, RIDGE_RUN_CHEAP},
    {"exact fill, padded, each operand elsewhere", RIDGE_EXACT, {1, 3, 1}, RIDGE_RUN_CHEAP},
    {"random fill, padded and misaligned", RIDGE_RANDOM, {3, 1, 0}, RIDGE_RUN_EDGE},
    {"special values, dense", RIDGE_SPECIAL, {0, 0, 0}, RIDGE_RUN_CHEAP},
    {"special values, padded and misaligned", RIDGE_SPECIAL, {3, 1, 0}, RIDGE_RUN_EDGE},
    {"precision fill, dense", RIDGE_PRECISION, {0, 0, 0}, RIDGE_RUN_CHEAP},
    {"precision fill, padded and misaligned", RIDGE_PRECISION, {7, 2, 0}, RIDGE_RUN_EDGE},
};

static bool applies(const ridge_combination *m, const ridge_case *c, double cost) {
    if (m->when == RIDGE_RUN_ALWAYS) return true;
    if (m->kind == RIDGE_SPECIAL && !c->edge) return false;
    if (m->kind == RIDGE_PRECISION && c->dtype != RIDGE_F32) return false; /* it would be the random fill */
    return cost < CHEAP_COST || (c->edge && m->when == RIDGE_RUN_EDGE);
}

int ridge_combinations_draw(const ridge_target *target, const ridge_case *c, uint64_t seed,
                            int order[RIDGE_COMBINATIONS]) {
    const double cost = ridge_check_full_cost(target, c);
    int fit[RIDGE_COMBINATIONS], precise[RIDGE_COMBINATIONS], n = 0, n_precise = 0, taken = 0;
    uint64_t start = seed + 4 * (uint64_t)c->dtype; /* the same, however many dimensions a target may have */
    for (int d = 0; d < RIDGE_MAX_RANK; d++) start += 31 * (uint64_t)c->dim[d];
    for (int i = 0; i < RIDGE_COMBINATIONS; i++) {
        if (!applies(&ridge_combinations[i], c, cost)) continue;
        if (ridge_combinations[i].kind == RIDGE_PRECISION)
            precise[n_precise++] = i;
        else
            fit[n++] = i;
    }
    /* The first one is as it was before there were precision fills: digests of an H200 are of it. */
    order[taken++] = fit[start % (uint64_t)n];
    for (int i = 0; i < n_precise; i++) order[taken++] = precise[(start + (uint64_t)i) % (uint64_t)n_precise];
    for (int i = 1; i < n; i++) order[taken++] = fit[(start + (uint64_t)i) % (uint64_t)n];
    return taken;
}

/* Tensors are placed as a run places them, in memory that begins at a multiple of RIDGE_OFFSETS and is never read. */
static void lay_out(const ridge_target *target, const ridge_case *c, const ridge_abilities *here,
                    const ridge_layout *layout, ridge_problem *problem) {
    ridge_operands ops;
    ridge_operands_place(&ops, target, c, layout, (void *)(uintptr_t)(16 * RIDGE_OFFSETS));
    const ridge_call call = {.dim = ops.c.dim, .dtype = c->dtype, .option = ops.c.option, .in = ops.in, .out = ops.out};
    ridge_problem_of(target, &call, here, problem);
    problem->here.threads = here->threads;
}

const ridge_way *ridge_combination_way(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                       const ridge_abilities *here, const ridge_layout *layout, const char **why) {
    ridge_problem problem;
    *why = NULL;
    if (variant->n_ways == 0) return NULL;
    lay_out(target, c, here, layout, &problem);
    return ridge_way_choose(variant, &problem, why);
}

int ridge_combinations_taken(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                             const ridge_abilities *here) {
    int order[RIDGE_COMBINATIONS], taken = 0;
    const char *why;
    const int n = ridge_combinations_draw(target, c, 0, order);
    for (int i = 0; i < n; i++)
        taken += ridge_combination_way(target, variant, c, here, &ridge_combinations[order[i]].layout, &why) != NULL;
    return taken;
}

const ridge_way *ridge_combinations_sole_way(const ridge_target *target, const ridge_variant *variant,
                                             const ridge_case *c, const ridge_abilities *here, uint64_t seed,
                                             int layouts) {
    int order[RIDGE_COMBINATIONS], taken = 0;
    const ridge_way *sole = NULL;
    const char *why;
    const int n = ridge_combinations_draw(target, c, seed, order);
    for (int i = 0; i < n && (layouts == 0 || taken < layouts); i++) {
        const ridge_way *way =
            ridge_combination_way(target, variant, c, here, &ridge_combinations[order[i]].layout, &why);
        if (!way || (sole && way != sole)) return NULL;
        sole = way;
        taken++;
    }
    return sole;
}
