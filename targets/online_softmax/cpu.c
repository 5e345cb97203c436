/* y[i,:] = exp(x[i,:] - max) / sum: see README.md.
 *
 * Running maxima start at -FLT_MAX, not at -inf: then a row of nothing but -inf sums to 0 and becomes 0 / 0 = NaN, as
 * it must, and a leading block of -inf does not (its exponentials are 0). */
#include <float.h>

#include "cpu/row.h"
#include "cpu/vec_math.h"
#include "online_softmax.h"

RIDGE_CPU_DECLARE(online_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(online_softmax_cpu_optimized);

/* ---- steps over a row, or a block of one ---- */

typedef struct reading {
    const void *x;
    bool bf16;
    row_sums sums;
} reading;

VF_INLINE void take_max(void *state, int chain, int64_t j, int64_t count) {
    reading *r = state;
    vf2 v = row_load_low(r->x, j, count, r->bf16);
    r->sums.chain[chain].a = vf_max(v.a, r->sums.chain[chain].a);
    r->sums.chain[chain].b = vf_max(v.b, r->sums.chain[chain].b);
}

VF_INLINE float max_of(const void *x, int64_t n, bool bf16) {
    reading r = {.x = x, .bf16 = bf16};
    row_sums_set(&r.sums, -FLT_MAX);
    row_visit(n, take_max, &r);
    return row_sums_max(&r.sums);
}

typedef struct exponentials {
    const void *x;
    float *t; /* where they are kept; NULL: nowhere */
    vf max;
    bool bf16;
    row_sums sums;
} exponentials;

VF_INLINE vf2 exponential(const exponentials *e, int64_t j, int64_t count) {
    vf2 v = row_load_low(e->x, j, count, e->bf16);
    return (vf2){vf_exp_bounded(vf_sub(v.a, e->max)), vf_exp_bounded(vf_sub(v.b, e->max))};
}

VF_INLINE void sum_exponentials(void *state, int chain, int64_t j, int64_t count) {
    exponentials *e = state;
    vf2 v = exponential(e, j, count);
    if (e->t) vf2_store_f32(e->t + j, v);
    e->sums.chain[chain].a = vf_add(e->sums.chain[chain].a, v.a);
    e->sums.chain[chain].b = vf_add(e->sums.chain[chain].b, v.b);
}

/* Sum of exp(x - max); keeps the exponentials in t unless that is NULL. */
VF_INLINE float sum_of(const void *x, int64_t n, float max, float *t, bool bf16) {
    exponentials e = {.x = x, .t = t, .max = vf_set1(max), .bf16 = bf16};
    row_sums_set(&e.sums, 0.0f);
    row_visit(n, sum_exponentials, &e);
    return row_sums_total(&e.sums);
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

static float exp_of(float x) {
    float lanes[VF_LANES];
    vf_store(lanes, vf_exp(vf_set1(x)));
    return lanes[0];
}

/* ---- optimized ---- */

/* The running maximum and normalizer: what has been summed so far, in units of exp(max). */
typedef struct running {
    float max, sum;
} running;

VF_INLINE void advance(running *r, float max, float sum) {
    r->sum = r->sum * exp_of(r->max - max) + sum;
    r->max = max;
}

/* Each block is read twice while it is in the first-level cache (maximum, then exponentials, which are kept); when the
 * row has been seen, one multiplication an element brings its block's reference value to the row's. */
VF_INLINE void kept_row(void *y, const void *x, int64_t n, float *t, bool bf16, bool stream, const void *ahead) {
    float reference[SOFTMAX_KEPT / SOFTMAX_BLOCK];
    running r = {-FLT_MAX, 0.0f};
    for (int64_t j = 0, b = 0; j < n; j += SOFTMAX_BLOCK, b++) {
        int64_t count = n - j < SOFTMAX_BLOCK ? n - j : SOFTMAX_BLOCK;
        const void *block = row_at(x, j, bf16);
        float max = max_of(block, count, bf16);
        max = max > r.max ? max : r.max;
        advance(&r, max, sum_of(block, count, max, t + j, bf16));
        reference[b] = max;
    }
    for (int64_t j = 0, b = 0; j < n; j += SOFTMAX_BLOCK, b++) {
        int64_t count = n - j < SOFTMAX_BLOCK ? n - j : SOFTMAX_BLOCK;
        scaling s = {.t = t + j, .factor = vf_set1(exp_of(reference[b] - r.max) / r.sum)};
        row_map(row_to(y, j, bf16), count, bf16, stream, scaled, &s, ahead ? row_at(ahead, j, bf16) : NULL);
    }
}

typedef struct again {
    const void *x;
    vf max, inverse;
    bool bf16;
} again;

VF_INLINE vf2 exponential_again(const void *state, int64_t j, int64_t count) {
    const again *s = state;
    exponentials e = {.x = s->x, .max = s->max, .bf16 = s->bf16};
    vf2 v = exponential(&e, j, count);
    return (vf2){vf_mul(v.a, s->inverse), vf_mul(v.b, s->inverse)};
}

/* A row too long to keep: one reading for maximum and normalizer together, one for the result. */
VF_INLINE void long_row(void *y, const void *x, int64_t n, bool bf16, bool stream) {
    running r = {-FLT_MAX, 0.0f};
    for (int64_t j = 0; j < n; j += SOFTMAX_BLOCK) {
        int64_t count = n - j < SOFTMAX_BLOCK ? n - j : SOFTMAX_BLOCK;
        const void *block = row_at(x, j, bf16);
        float max = max_of(block, count, bf16);
        max = max > r.max ? max : r.max;
        advance(&r, max, sum_of(block, count, max, NULL, bf16));
    }
    again s = {.x = x, .max = vf_set1(r.max), .inverse = vf_set1(1.0f / r.sum), .bf16 = bf16};
    row_map(y, n, bf16, stream, exponential_again, &s, NULL);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, int rank, bool bf16) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, bf16));
    float *t = (float *)call->scratch + rank * row_temporary_length(n);
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, bf16);
        void *y = row_out(&call->out[0], i, bf16);
        const void *ahead = i + 1 < end ? row_in(&call->in[0], i + 1, bf16) : NULL;
        if (n <= SOFTMAX_KEPT)
            kept_row(y, x, n, t, bf16, stream, ahead);
        else
            long_row(y, x, n, bf16, stream);
    }
    vf_fence();
}

static void optimized_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    optimized_rows(call, begin, end, rank, false);
}
static void optimized_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    optimized_rows(call, begin, end, rank, true);
}
ridge_status RIDGE_ISA_FN(online_softmax_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16);
}

/* ---- baseline: maxima, exponentials to memory, their sums, the division ---- */

VF_INLINE vf2 plain_exponential(const void *state, int64_t j, int64_t count) { return exponential(state, j, count); }

VF_INLINE void add_temporary(void *state, int chain, int64_t j, int64_t count) {
    (void)count;
    exponentials *e = state;
    vf2 v = vf2_load_f32(e->t + j);
    e->sums.chain[chain].a = vf_add(e->sums.chain[chain].a, v.a);
    e->sums.chain[chain].b = vf_add(e->sums.chain[chain].b, v.b);
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, bool bf16) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *t = call->scratch, *statistic = t + call->dim[0] * pitch; /* a row's maximum, then its sum */
    for (int64_t i = begin; i < end; i++) statistic[i] = max_of(row_in(&call->in[0], i, bf16), n, bf16);
    for (int64_t i = begin; i < end; i++) {
        exponentials e = {.x = row_in(&call->in[0], i, bf16), .max = vf_set1(statistic[i]), .bf16 = bf16};
        row_map_temporary(t + i * pitch, n, plain_exponential, &e);
    }
    for (int64_t i = begin; i < end; i++) {
        exponentials e = {.t = t + i * pitch};
        row_sums_set(&e.sums, 0.0f);
        row_visit(n, add_temporary, &e);
        statistic[i] = row_sums_total(&e.sums);
    }
    for (int64_t i = begin; i < end; i++) {
        scaling s = {.t = t + i * pitch, .factor = vf_set1(1.0f / statistic[i])};
        row_map(row_out(&call->out[0], i, bf16), n, bf16, false, scaled, &s, NULL);
    }
}

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, false);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, true);
}
ridge_status RIDGE_ISA_FN(online_softmax_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16);
}
