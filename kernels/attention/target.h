/* What the descriptors of attention and of its gradients have in common. Included by their target.c. */
#ifndef RIDGE_ATTENTION_TARGET_H
#define RIDGE_ATTENTION_TARGET_H

#include <math.h>

#include "attention/problem.h"

/* ---- cases: m, batch, heads, n, kv_heads, d, v ---- */

#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
#define EDGE .edge = true
#define ALL -1, -1 /* left, right */
#define PLAIN .option = {0, 0, ALL}
#define CAUSAL .option = {0, 1, ALL}

/* ---- tensors ---- */

#define OF_HEAD(tensor, rows, heads, columns) \
    .name = tensor, .rank = 4, .dim = {rows, ATTENTION_BATCH, heads, columns}, .any_order = 3
#define LSE \
    .name = "lse", .rank = 3, .dim = {ATTENTION_M, ATTENTION_BATCH, ATTENTION_HEADS}, .dtype = RIDGE_F32, .any_order = 3
/* A number a head, where the option is not 0. */
#define OF_HEADS(tensor, option) \
    .name = tensor, .rank = 1, .dim = {ATTENTION_HEADS}, .dtype = RIDGE_F32, .given_option = (option) + 1

/* ---- the descriptor ---- */

#define ATTENTION_DIMS "m", "batch", "heads", "n", "kv_heads", "d", "v"
#define ATTENTION_TARGET                                                                         \
    .chapter = "ch09", .cases = RIDGE_LIST(cases), .in = RIDGE_LIST(in), .out = RIDGE_LIST(out), \
    .variants = RIDGE_LIST(variants),                                                            \
    .options = {{.name = "scale"},                                                               \
                {.name = "causal"},                                                              \
                {.name = "left", .fallback = -1},                                                \
                {.name = "right", .fallback = -1},                                               \
                {.name = "softcap"},                                                             \
                {.name = "sinks"},                                                               \
                {.name = "slopes"}},                                                             \
    .oracle = oracle, .products = true

/* ---- errors: targets/attention/README.md derives them ---- */

/* Of a score: the largest magnitude of scale q . k, and what a score is off by before it is reduced by anything. */
typedef struct attention_score_bound {
    double largest, error;
} attention_score_bound;

/* q, k, slope: places of the inputs. */
static inline attention_score_bound attention_score_bound_of(const ridge_oracle_call *call, ridge_fill_kind kind, int q,
                                                             int k, int slope) {
    const double u = 0x1p-24, d = (double)call->dim[ATTENTION_D];
    const bool half = ridge_dtype_size(call->dtype) == 2;
    const double scale = fabs(attention_scale(call->whole, call->option)), product = call->in_max[q] * call->in_max[k];
    const bool exact = kind == RIDGE_EXACT && d * product < 0x1p24; /* products are integers that fit */
    attention_score_bound b = {.largest = scale * (exact ? d * product : product * (5 * sqrt(d) / 3 + 1))};
    if (!exact)
        b.error = scale * u * (half ? 2 * (d / 16 + 1) : 7 * sqrt(d) / 3 + 2) * product * (10.0 / 9 * sqrt(d) + 1);
    b.error += 4 * u * b.largest + 4 * u; /* the scale, the difference from the maximum or lse, the exponential */
    if (call->option[ATTENTION_SOFTCAP] > 0) b.error += 16 * u * call->option[ATTENTION_SOFTCAP];
    if (call->option[ATTENTION_SLOPES] > 0)
        b.error += 4 * u * (double)(call->whole[ATTENTION_M] + call->whole[ATTENTION_N]) * call->in_max[slope];
    return b;
}

/* Of a sum of that many products or exponentials in fp32, relative to the sum of their magnitudes. */
static inline double attention_sum_bound(const ridge_oracle_call *call, double terms) {
    const double u = 0x1p-24;
    return u * (12 + 2 * sqrt(terms)) + (ridge_dtype_size(call->dtype) == 2 ? 2 * u * (terms / 16 + 1) : 0);
}

/* What rounding to the storage type loses of a value. */
static inline double attention_round_bound(const ridge_oracle_call *call) {
    return ridge_dtype_size(call->dtype) == 2 ? ridge_dtype_roundoff(call->dtype) : 0;
}

#endif
