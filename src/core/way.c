/* Variants with ways: which one takes a problem, what it costs, and its run. */
#include <stdint.h>
#include <string.h>

#include "ridge/tuned.h"

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static const ridge_tensor_spec *spec_of(const ridge_target *target, int t) {
    return t < target->n_in ? &target->in[t] : &target->out[t - target->n_in];
}

static void dense_operand(const ridge_tensor_spec *spec, const ridge_case *c, bool column_major,
                          ridge_operand *operand) {
    int64_t shape[RIDGE_MAX_RANK], step = 1;
    const int rank = ridge_spec_shape(spec, c, shape);
    for (int i = 0; i < rank; i++) {
        const int d = column_major ? i : rank - 1 - i;
        operand->stride[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
}

void ridge_problem_dense(const ridge_target *target, const ridge_case *c, const ridge_abilities *here,
                         ridge_problem *problem) {
    memset(problem, 0, sizeof *problem);
    problem->c = *c;
    problem->here = *here;
    for (int t = 0; t < target->n_in + target->n_out; t++)
        dense_operand(spec_of(target, t), c, (c->column_major >> t & 1u) != 0, &problem->tensor[t]);
}

void ridge_problem_of(const ridge_target *target, const ridge_call *call, const ridge_abilities *here,
                      ridge_problem *problem) {
    ridge_case c = {.dtype = call->dtype};
    memcpy(c.dim, call->dim, (size_t)ridge_target_rank(target) * sizeof c.dim[0]);
    for (int i = 0; call->option && i < RIDGE_MAX_OPTIONS && target->options[i].name; i++)
        c.option[i] = call->option[i];
    ridge_problem_dense(target, &c, here, problem);
    problem->here.threads = ridge_team_size(call->team);
    for (int t = 0; t < target->n_in + target->n_out; t++) {
        const DLTensor *tensor = t < target->n_in ? &call->in[t] : &call->out[t - target->n_in];
        ridge_operand *operand = &problem->tensor[t];
        for (int d = 0; tensor->strides && d < tensor->ndim; d++)
            if (tensor->shape[d] > 1) operand->stride[d] = tensor->strides[d];
        if (tensor->ndim == 2 && operand->stride[0] == 1 && operand->stride[1] != 1) problem->c.column_major |= 1u << t;
        operand->offset = (unsigned)(((uintptr_t)tensor->data + tensor->byte_offset) % RIDGE_OFFSETS);
    }
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

const char *ridge_way_obstacle_here(const ridge_variant *variant, const ridge_way *way, const ridge_abilities *here) {
    const int sm = here->sm;
    if (!way->run[here->isa]) return "this build has no code for it";
    if (ridge_variant_backend(variant) != RIDGE_BACKEND_cuda) return way->lacks ? way->lacks() : NULL;
    if (sm < way->needs)
        return way->needs >= 100  ? "needs compute capability 10.0"
               : way->needs >= 90 ? "needs compute capability 9.0"
                                  : "needs compute capability 8.0";
    if (way->below && sm >= way->below)
        return way->below > 100 ? "for compute capability 10.0 alone" : "for compute capability 9.0 alone";
    return NULL;
}

ridge_plan ridge_way_plan(const ridge_variant *variant, const ridge_way *way, const ridge_problem *problem) {
    const char *obstacle = ridge_way_obstacle_here(variant, way, &problem->here);
    if (obstacle) return (ridge_plan){.refusal = obstacle};
    return way->plan ? way->plan(way, problem) : (ridge_plan){.refusal = NULL};
}

const char *ridge_way_obstacle(const ridge_variant *variant, const ridge_way *way, const ridge_problem *problem) {
    return ridge_way_plan(variant, way, problem).refusal;
}

/* A way by its place, -1: none, and what it would do. */
typedef struct choice {
    int way;
    ridge_plan plan;
} choice;

/* The measured way, where it takes the problem. */
static choice measured(const ridge_variant *variant, const ridge_problem *problem, uint64_t tried) {
    const ridge_way *way = problem->here.tuned ? ridge_tuned_way(problem->here.tuned, variant, problem) : NULL;
    choice its = {.way = -1};
    if (!way || tried >> (way - variant->ways) & 1) return its;
    its.plan = ridge_way_plan(variant, way, problem);
    if (!its.plan.refusal) its.way = (int)(way - variant->ways);
    return its;
}

/* tried: bit i stands for way i, which is not to be chosen. */
static choice choose(const ridge_variant *variant, const ridge_problem *problem, uint64_t tried, const char **why) {
    choice best = measured(variant, problem, tried);
    if (best.way >= 0) return best;
    for (int i = 0; i < variant->n_ways && i < 64; i++) {
        const ridge_way *way = &variant->ways[i];
        const ridge_plan plan = tried >> i & 1 ? (ridge_plan){.refusal = ""} : ridge_way_plan(variant, way, problem);
        if (plan.refusal && why && !*why) *why = plan.refusal;
        if (plan.refusal || (best.way >= 0 && !(plan.us < best.plan.us))) continue;
        best = (choice){i, plan};
    }
    return best;
}

const ridge_way *ridge_way_choose(const ridge_variant *variant, const ridge_problem *problem, const char **why) {
    const char *first = NULL;
    const int best = choose(variant, problem, 0, &first).way;
    if (why) *why = best < 0 ? first : NULL;
    return best < 0 ? NULL : &variant->ways[best];
}

/* What a thread chose last: costs take microseconds, as long as a small kernel, and a program repeats its calls. Tables
 * of ways are constant, and their address says which variant it was. */
enum { REMEMBERED = 8 };
typedef struct remembered {
    const ridge_way *ways;
    int n_ways;
    choice best;
    uint64_t tuned; /* its number (ridge_tuned_number) */
    ridge_problem problem;
} remembered;
static _Thread_local remembered chosen[REMEMBERED];

static bool same_problem(const ridge_problem *a, const ridge_problem *b) {
    return ridge_case_same(&a->c, &b->c) && a->here.isa == b->here.isa && a->here.sm == b->here.sm &&
           a->here.sm_count == b->here.sm_count && a->here.threads == b->here.threads &&
           memcmp(&a->here.rates, &b->here.rates, sizeof a->here.rates) == 0 &&
           memcmp(a->tensor, b->tensor, sizeof a->tensor) == 0;
}

static choice choose_again(const ridge_variant *variant, const ridge_problem *problem) {
    uint64_t hash = (uint64_t)(uintptr_t)variant->ways / sizeof *variant->ways;
    for (int i = 0; i < RIDGE_MAX_RANK; i++) hash = hash * 31 + (uint64_t)problem->c.dim[i];
    remembered *r = &chosen[(hash ^ hash >> 7) % REMEMBERED];
    const uint64_t tuned = problem->here.tuned ? ridge_tuned_number(problem->here.tuned) : 0;
    if (r->ways == variant->ways && r->n_ways == variant->n_ways && r->tuned == tuned &&
        same_problem(&r->problem, problem))
        return r->best;
    r->ways = variant->ways, r->n_ways = variant->n_ways, r->tuned = tuned;
    r->problem = *problem;
    return r->best = choose(variant, problem, 0, NULL);
}

const ridge_way *ridge_way_next(const ridge_variant *variant, const ridge_problem *problem, uint64_t *tried,
                                size_t *scratch) {
    const choice best = *tried ? choose(variant, problem, *tried, NULL) : choose_again(variant, problem);
    if (best.way < 0) return NULL;
    *tried |= UINT64_C(1) << best.way;
    if (scratch) *scratch = best.plan.scratch;
    return &variant->ways[best.way];
}

const ridge_way *ridge_way_find(const ridge_variant *variant, const char *name) {
    for (int i = 0; i < variant->n_ways; i++)
        if (strcmp(variant->ways[i].name, name) == 0) return &variant->ways[i];
    return NULL;
}

ridge_status ridge_variant_run(const ridge_target *target, const ridge_variant *variant, const ridge_abilities *here,
                               const ridge_call *call) {
    const ridge_way *way;
    return ridge_variant_run_way(target, variant, here, call, &way);
}

ridge_status ridge_variant_run_way(const ridge_target *target, const ridge_variant *variant,
                                   const ridge_abilities *here, const ridge_call *call, const ridge_way **way) {
    *way = NULL;
    if (variant->n_ways == 0) return variant->run[here->isa](call);
    ridge_problem problem;
    ridge_call its = *call;
    ridge_status status = RIDGE_UNSUPPORTED;
    uint64_t tried = 0;
    ridge_problem_of(target, call, here, &problem);
    while (status == RIDGE_UNSUPPORTED && (its.way = ridge_way_next(variant, &problem, &tried, NULL)) != NULL)
        status = its.way->run[here->isa](&its);
    *way = status == RIDGE_OK ? its.way : NULL;
    return status;
}

/* ---- what a variant needs and does ------------------------------------------------------------------------------- */

ridge_variant ridge_variant_of_way(const ridge_variant *variant, const ridge_way *way, const char *name) {
    ridge_variant one = *variant;
    one.name = name;
    one.idea = way->idea;
    one.ways = way;
    one.n_ways = 1;
    return one;
}

bool ridge_variant_forced(const ridge_variant *variant) { return strchr(variant->name, ':') != NULL; }

bool ridge_variant_has_code(const ridge_variant *variant, ridge_isa isa) {
    bool any = variant->run[isa] != NULL;
    for (int i = 0; i < variant->n_ways; i++) any = any || variant->ways[i].run[isa];
    return any;
}

size_t ridge_variant_scratch(const ridge_variant *variant, const ridge_problem *problem) {
    size_t most = 0;
    if (variant->n_ways == 0 && variant->scratch) return variant->scratch(&problem->c, problem->here.threads);
    for (int i = 0; i < variant->n_ways; i++) {
        const ridge_plan plan = ridge_way_plan(variant, &variant->ways[i], problem);
        if (!plan.refusal && plan.scratch > most) most = plan.scratch;
    }
    return most;
}

size_t ridge_variant_dense_scratch(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                   const ridge_abilities *here, int threads) {
    ridge_problem problem;
    ridge_problem_dense(target, c, here, &problem);
    problem.here.threads = threads;
    return ridge_variant_scratch(variant, &problem);
}

static const ridge_way *dense_way(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                  const ridge_abilities *here, ridge_problem *problem) {
    ridge_problem_dense(target, c, here, problem);
    return ridge_way_choose(variant, problem, NULL);
}

const ridge_way *ridge_variant_dense_way(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                         const ridge_abilities *here) {
    ridge_problem problem;
    return dense_way(target, variant, c, here, &problem);
}

const char *ridge_variant_dense_obstacle(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                         const ridge_abilities *here) {
    ridge_problem problem;
    const char *why = ridge_variant_obstacle(variant, c, here);
    if (why || variant->n_ways == 0) return why;
    ridge_problem_dense(target, c, here, &problem);
    return ridge_way_choose(variant, &problem, &why) ? NULL : why;
}

static bool moves(const ridge_traffic *t) { return t->read + t->written + t->streamed > 0; }

bool ridge_variant_traffic(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                           const ridge_abilities *here, ridge_traffic *traffic) {
    ridge_problem problem;
    const ridge_way *way = dense_way(target, variant, c, here, &problem);
    *traffic = (ridge_traffic){0};
    if (way) *traffic = ridge_way_plan(variant, way, &problem).traffic;
    if (!moves(traffic) && variant->traffic) variant->traffic(c, traffic);
    return moves(traffic);
}

ridge_arithmetic ridge_variant_arithmetic(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                          const ridge_abilities *here) {
    ridge_problem problem;
    const ridge_way *way = dense_way(target, variant, c, here, &problem);
    if (way) return ridge_way_plan(variant, way, &problem).arithmetic;
    return variant->arithmetic ? variant->arithmetic(c, here->sm) : (ridge_arithmetic){.type = RIDGE_DTYPE_NONE};
}
