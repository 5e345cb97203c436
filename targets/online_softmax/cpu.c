/* y[i,:] = exp(x[i,:] - max) / sum: see README.md.
 *
 * Running maxima start at -FLT_MAX, not at -inf. So a row of -inf sums to 0 and becomes 0 / 0 = NaN, as required, and a
 * leading block of -inf does not (its exponentials are 0). */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/vec_math.h"
#include "online_softmax.h"

RIDGE_CPU_DECLARE(online_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(online_softmax_cpu_optimized);

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
    float *t;     /* destination of the exponentials; NULL: not kept */
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

/* Maximum and exponentials in one pass; one fused operation multiplies by log2 e and subtracts the reference. */
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

/* A block is ROW_PIECE elements: they and their exponentials fit in L1. A block's exponentials are
 * 2^(x log2e - reference), their sum is `sum`, its largest element is `max`. Reference and sum are fp64, so that blocks
 * combine without loss. */
typedef struct block_sum {
    double reference, sum;
    float max;
} block_sum;

/* Two passes, the maximum, then the exponentials: valid for every block. */
static __attribute__((noinline)) block_sum careful_block(const void *x, int64_t n, float *t, bool bf16) {
    float max = bf16 ? max_of(x, n, VF_BF16) : max_of(x, n, VF_F32);
    summing s = {.x = x, .t = t, .reference = vf_set1(max)};
    row_sums_set(&s.sums, 0.0f);
    s.type = bf16 ? VF_BF16 : VF_F32;
    row_visit(n, sum_exponentials, &s);
    return (block_sum){(double)max * (double)LOG2_E, (double)row_sums_total(&s.sums), max};
}

/* One pass, relative to the previous maximum. Valid unless the block's maximum exceeds it by more than SOFTMAX_RISE, or
 * the reference is too large: then exponentials could overflow. */
VF_INLINE summing begin_block(const void *x, float *t, float before, vf_type type) {
    summing s = {.x = x, .t = t, .reference = vf_set1(-(before * LOG2_E)), .type = type};
    row_sums_set(&s.sums, 0.0f);
    row_sums_set(&s.max, -FLT_MAX);
    return s;
}
VF_INLINE block_sum end_block(const summing *s, const void *x, int64_t n, float before, vf_type type) {
    float max = row_sums_max(&s->max);
    bool served = before > -1e37f && before < 1e37f && max - before <= SOFTMAX_RISE;
    if (__builtin_expect(!served, 0)) return careful_block(x, n, s->t, is_bf16(type));
    return (block_sum){(double)(before * LOG2_E), (double)row_sums_total(&s->sums), max > before ? max : before};
}
VF_INLINE block_sum block_of(const void *x, int64_t n, float *t, float before, vf_type type) {
    summing s = begin_block(x, t, before, type);
    row_visit(n, max_and_sum_exponentials, &s);
    return end_block(&s, x, n, before, type);
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

VF_INLINE int64_t block_length(int64_t n, int64_t j) { return n - j < ROW_PIECE ? n - j : ROW_PIECE; }

/* A row whose exponentials are in t, each block relative to its own reference. */
typedef struct kept {
    float *t;
    block_sum row;
    double reference[SOFTMAX_KEPT / ROW_PIECE];
} kept;

VF_INLINE void keep_block(kept *k, int64_t b, block_sum block) {
    if (b == 0)
        k->row = block;
    else
        advance(&k->row, block);
    k->reference[b] = block.reference;
}

VF_INLINE void keep_row(kept *k, const void *x, int64_t n, vf_type type) {
    float before = first_maximum(x, n, type);
    for (int64_t j = 0, b = 0; j < n; j += ROW_PIECE, b++) {
        keep_block(k, b, block_of(row_at(x, j, type), block_length(n, j), k->t + j, before, type));
        before = k->row.max;
    }
}

/* Factor from block b's reference to the normalized row. */
VF_INLINE vf factor_of(const kept *k, int64_t b) {
    double same = k->reference[b] == k->row.reference ? 1.0 : exp2(k->reference[b] - k->row.reference);
    return vf_set1((float)(same / k->row.sum));
}

VF_INLINE void write_kept(void *y, const kept *k, int64_t n, vf_type type, bool stream, const void *ahead) {
    /* Kept values are stored in pairs from the row's start, even and odd places of bf16 apart; no other start is
     * possible. */
    if (is_bf16(type) && row_head(y, type) != 0) stream = false;
    for (int64_t j = 0, b = 0; j < n; j += ROW_PIECE, b++) {
        scaling s = {.t = k->t + j, .factor = factor_of(k, b)};
        row_map(row_to(y, j, type), block_length(n, j), type, stream, scaled, &s,
                ahead ? row_at(ahead, j, type) : NULL);
    }
}

/* Writes one row while it reads the next, block by block. */
VF_INLINE void write_and_keep(void *y, const kept *k, kept *next, const void *x, int64_t n, vf_type type) {
    float before = first_maximum(x, n, type);
    for (int64_t j = 0, b = 0; j < n; j += ROW_PIECE, b++) {
        const void *block = row_at(x, j, type);
        const int64_t count = block_length(n, j);
        scaling s = {.t = k->t + j, .factor = factor_of(k, b)};
        summing r = begin_block(block, next->t + j, before, type);
        row_stream_and_visit(row_to(y, j, type), 0, count, type, scaled, &s, max_and_sum_exponentials, &r, block);
        keep_block(next, b, end_block(&r, block, count, before, type));
        before = next->row.max;
    }
}

VF_INLINE void kept_rows(const ridge_call *call, int64_t begin, int64_t end, int rank, vf_type type, bool stream) {
    const int64_t n = call->dim[1];
    const bool two = stream && row_pairs_up(&call->out[0], n, type), apart = n <= SOFTMAX_APART;
    kept rows[2]; /* the row being written and the row being read, alternating */
    for (int k = 0; k < 2; k++) rows[k].t = (float *)call->scratch + row_pair_place(n, rank, apart ? k : 0);
    if (begin < end) keep_row(&rows[begin % 2], row_in(&call->in[0], begin, type), n, type);
    for (int64_t i = begin; i < end; i++) {
        kept *now = &rows[i % 2], *next = &rows[(i + 1) % 2];
        const void *x = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        void *y = row_out(&call->out[0], i, type);
        if (two && x) {
            write_and_keep(y, now, next, x, n, type);
        } else {
            write_kept(y, now, n, type, stream, x);
            if (x) keep_row(next, x, n, type);
        }
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

/* A row too long to keep: one pass for maximum and normalizer, one for the result. */
VF_INLINE void long_row(void *y, const void *x, int64_t n, vf_type type, bool stream) {
    block_sum row = block_of(x, block_length(n, 0), NULL, first_maximum(x, n, type), type);
    for (int64_t j = ROW_PIECE; j < n; j += ROW_PIECE)
        advance(&row, block_of(row_at(x, j, type), block_length(n, j), NULL, row.max, type));
    double sum = row.sum * exp2(row.reference - (double)row.max * (double)LOG2_E);
    again s = {.x = x, .max = vf_set1(row.max), .inverse = vf_set1((float)(1.0 / sum)), .type = type};
    row_map(y, n, type, stream, exponential_again, &s, NULL);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, int rank, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    if (n <= SOFTMAX_KEPT) {
        kept_rows(call, begin, end, rank, type, stream);
    } else {
        for (int64_t i = begin; i < end; i++)
            long_row(row_out(&call->out[0], i, type), row_in(&call->in[0], i, type), n, type, stream);
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

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(online_softmax_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
