/* y[i,:] = exp(x[i,:] - max) / sum: see README.md.
 *
 * Running maxima start at -FLT_MAX, not at -inf: then a row of nothing but -inf sums to 0 and becomes 0 / 0 = NaN, as
 * it must, and a leading block of -inf does not (its exponentials are 0). */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/vec_math.h"
#include "online_softmax.h"

RIDGE_CPU_DECLARE(online_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(online_softmax_cpu_optimized);

#define LOG2_E 0x1.715476p0f

/* ---- steps over a row, or a block of one ---- */

typedef struct reading {
    const void *x;
    vf_type type;
    row_sums sums;
} reading;

VF_INLINE void take_max(void *state, int chain, int64_t j, int64_t count) {
    reading *r = state;
    vf2 v = row_load_low(r->x, j, count, r->type);
    r->sums.chain[chain].a = vf_max(v.a, r->sums.chain[chain].a);
    r->sums.chain[chain].b = vf_max(v.b, r->sums.chain[chain].b);
}

VF_INLINE float max_of(const void *x, int64_t n, vf_type type) {
    reading r = {.x = x, .type = type};
    row_sums_set(&r.sums, -FLT_MAX);
    row_visit(n, take_max, &r);
    return row_sums_max(&r.sums);
}

/* exp(x - max), as 2^((x - max) log2 e). */
VF_INLINE vf2 exponential(const void *x, int64_t j, int64_t count, vf max, vf_type type) {
    const vf log2e = vf_set1(LOG2_E);
    vf2 v = row_load_low(x, j, count, type);
    return (vf2){vf_exp2(vf_mul(vf_sub(v.a, max), log2e)), vf_exp2(vf_mul(vf_sub(v.b, max), log2e))};
}

typedef struct summing {
    const void *x;
    float *t;     /* where the exponentials are kept; NULL: nowhere */
    vf reference; /* subtracted before (natural units) or within (times log2 e) the scaling */
    vf_type type;
    row_sums max, sums;
} summing;

VF_INLINE void keep_and_sum(summing *s, int chain, int64_t j, vf2 v) {
    if (s->t) vf2_store_f32(s->t + j, v);
    s->sums.chain[chain].a = vf_add(s->sums.chain[chain].a, v.a);
    s->sums.chain[chain].b = vf_add(s->sums.chain[chain].b, v.b);
}

VF_INLINE void sum_exponentials(void *state, int chain, int64_t j, int64_t count) {
    summing *s = state;
    keep_and_sum(s, chain, j, exponential(s->x, j, count, s->reference, s->type));
}

/* Maximum and exponentials at one reading; one fused operation takes log2 e times x and the reference off. */
VF_INLINE void max_and_sum_exponentials(void *state, int chain, int64_t j, int64_t count) {
    const vf log2e = vf_set1(LOG2_E);
    summing *s = state;
    vf2 v = row_load_low(s->x, j, count, s->type);
    s->max.chain[chain].a = vf_max(v.a, s->max.chain[chain].a);
    s->max.chain[chain].b = vf_max(v.b, s->max.chain[chain].b);
    v.a = vf_exp2(vf_fma(v.a, log2e, s->reference));
    v.b = vf_exp2(vf_fma(v.b, log2e, s->reference));
    keep_and_sum(s, chain, j, v);
}

typedef struct scaling {
    const float *t;
    vf factor;
} scaling;

VF_INLINE vf2 scaled(const void *state, int64_t j, int64_t count) {
    (void)count;
    const scaling *s = state;
    vf2 v = vf2_load_f32(s->t + j);
    return (vf2){vf_mul(v.a, s->factor), vf_mul(v.b, s->factor)};
}

/* ---- optimized ---- */

/* A block's exponentials are 2^(x log2e - reference), their sum is `sum`, its largest element is `max`. In fp64, so
 * that references of blocks can be compared without loss. */
typedef struct block_sum {
    double reference, sum;
    float max;
} block_sum;

/* The maximum first, then the exponentials: right for every block. */
static __attribute__((noinline)) block_sum careful_block(const void *x, int64_t n, float *t, bool bf16) {
    float max = bf16 ? max_of(x, n, VF_BF16) : max_of(x, n, VF_F32);
    summing s = {.x = x, .t = t, .reference = vf_set1(max)};
    row_sums_set(&s.sums, 0.0f);
    s.type = bf16 ? VF_BF16 : VF_F32;
    row_visit(n, sum_exponentials, &s);
    return (block_sum){(double)max * (double)LOG2_E, (double)row_sums_total(&s.sums), max};
}

/* Both at once, against a maximum of what came before. That serves unless the block rises above it by more than
 * SOFTMAX_RISE, where the exponentials would come near overflow, or the reference itself would. */
VF_INLINE block_sum block_of(const void *x, int64_t n, float *t, float before, vf_type type) {
    if (__builtin_expect(!(before > -1e37f && before < 1e37f), 0)) return careful_block(x, n, t, is_bf16(type));
    const float reference = before * LOG2_E;
    summing s = {.x = x, .t = t, .reference = vf_set1(-reference), .type = type};
    row_sums_set(&s.sums, 0.0f);
    row_sums_set(&s.max, -FLT_MAX);
    row_visit(n, max_and_sum_exponentials, &s);
    float max = row_sums_max(&s.max);
    if (__builtin_expect(!(max - before <= SOFTMAX_RISE), 0)) return careful_block(x, n, t, is_bf16(type));
    return (block_sum){(double)reference, (double)row_sums_total(&s.sums), max > before ? max : before};
}

/* The maximum of a few elements: the reference of a row's first block. */
VF_INLINE float first_maximum(const void *x, int64_t n, vf_type type) {
    vf2 v = row_load_low(x, 0, n < VF2_LANES ? n : VF2_LANES, type);
    return vf_hmax(vf_max(v.a, v.b));
}

/* The running maximum and normalizer after each block. */
VF_INLINE void advance(block_sum *row, block_sum block) {
    double kept = row->reference == block.reference ? row->sum : row->sum * exp2(row->reference - block.reference);
    *row = (block_sum){block.reference, kept + block.sum, block.max > row->max ? block.max : row->max};
}

VF_INLINE int64_t block_length(int64_t n, int64_t j) { return n - j < SOFTMAX_BLOCK ? n - j : SOFTMAX_BLOCK; }

/* A row is read once; its exponentials stay in cache, each block's to its own reference, and when the row has been seen
 * one multiplication an element brings them to the row's. */
VF_INLINE void kept_row(void *y, const void *x, int64_t n, float *t, vf_type type, bool stream, const void *ahead) {
    double reference[SOFTMAX_KEPT / SOFTMAX_BLOCK];
    /* Kept values lie in pairs from the row's start, even and odd places of bf16 apart: no other start will do. */
    if (is_bf16(type) && row_head(y, type) != 0) stream = false;
    block_sum row = block_of(x, block_length(n, 0), t, first_maximum(x, n, type), type);
    reference[0] = row.reference;
    for (int64_t j = SOFTMAX_BLOCK, b = 1; j < n; j += SOFTMAX_BLOCK, b++) {
        block_sum block = block_of(row_at(x, j, type), block_length(n, j), t + j, row.max, type);
        advance(&row, block);
        reference[b] = block.reference;
    }
    for (int64_t j = 0, b = 0; j < n; j += SOFTMAX_BLOCK, b++) {
        float factor = (float)((reference[b] == row.reference ? 1.0 : exp2(reference[b] - row.reference)) / row.sum);
        scaling s = {.t = t + j, .factor = vf_set1(factor)};
        row_map(row_to(y, j, type), block_length(n, j), type, stream, scaled, &s,
                ahead ? row_at(ahead, j, type) : NULL);
    }
}

typedef struct again {
    const void *x;
    vf max, inverse;
    vf_type type;
} again;

VF_INLINE vf2 exponential_again(const void *state, int64_t j, int64_t count) {
    const again *s = state;
    vf2 v = exponential(s->x, j, count, s->max, s->type);
    return (vf2){vf_mul(v.a, s->inverse), vf_mul(v.b, s->inverse)};
}

/* A row too long to keep: one reading for maximum and normalizer together, one for the result. */
VF_INLINE void long_row(void *y, const void *x, int64_t n, vf_type type, bool stream) {
    block_sum row = block_of(x, block_length(n, 0), NULL, first_maximum(x, n, type), type);
    for (int64_t j = SOFTMAX_BLOCK; j < n; j += SOFTMAX_BLOCK)
        advance(&row, block_of(row_at(x, j, type), block_length(n, j), NULL, row.max, type));
    double sum = row.sum * exp2(row.reference - (double)row.max * (double)LOG2_E);
    again s = {.x = x, .max = vf_set1(row.max), .inverse = vf_set1((float)(1.0 / sum)), .type = type};
    row_map(y, n, type, stream, exponential_again, &s, NULL);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, int rank, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    float *t = (float *)call->scratch + rank * row_temporary_length(n);
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        void *y = row_out(&call->out[0], i, type);
        const void *ahead = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        if (n <= SOFTMAX_KEPT)
            kept_row(y, x, n, t, type, stream, ahead);
        else
            long_row(y, x, n, type, stream);
    }
    vf_fence();
}

static void optimized_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    optimized_rows(call, begin, end, rank, VF_F32);
}
static void optimized_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    optimized_rows(call, begin, end, rank, VF_BF16);
}
static void optimized_bf16_native(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    optimized_rows(call, begin, end, rank, VF_BF16_NATIVE);
}
ridge_status RIDGE_ISA_FN(online_softmax_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: maxima, exponentials to memory, their sums, the division ---- */

typedef struct exponentials {
    const void *x;
    vf max;
    vf_type type;
} exponentials;

VF_INLINE vf2 plain_exponential(const void *state, int64_t j, int64_t count) {
    const exponentials *e = state;
    return exponential(e->x, j, count, e->max, e->type);
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *t = call->scratch, *statistic = t + call->dim[0] * pitch; /* a row's maximum, then its sum */
    for (int64_t i = begin; i < end; i++) statistic[i] = max_of(row_in(&call->in[0], i, type), n, type);
    for (int64_t i = begin; i < end; i++) {
        exponentials e = {.x = row_in(&call->in[0], i, type), .max = vf_set1(statistic[i]), .type = type};
        row_map_temporary(t + i * pitch, n, plain_exponential, &e);
    }
    for (int64_t i = begin; i < end; i++) {
        statistic[i] = row_sum(t + i * pitch, row_whole_pairs(n), 1.0f, VF_F32);
    }
    for (int64_t i = begin; i < end; i++) {
        scaling s = {.t = t + i * pitch, .factor = vf_set1(1.0f / statistic[i])};
        row_map(row_out(&call->out[0], i, type), n, type, false, scaled, &s, NULL);
    }
}

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_F32);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_BF16);
}
static void baseline_bf16_native(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_BF16_NATIVE);
}
ridge_status RIDGE_ISA_FN(online_softmax_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
