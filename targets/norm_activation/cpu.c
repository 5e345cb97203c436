/* y = gelu((x - mean) r gamma + beta), r = 1 / sqrt(var + eps), gelu(h) = h (1 + erf(h / sqrt 2)) / 2,
 * independently for each row: see README.md. */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/vec_gelu.h"
#include "norm_activation.h"

RIDGE_CPU_DECLARE(norm_activation_cpu_baseline);
RIDGE_CPU_DECLARE(norm_activation_cpu_optimized);

/* ---- statistics of one row ---- */

/* A row is multiplied by `scale` (1, except in rows whose squares overflow), its mean is subtracted, and the difference
 * is multiplied by `inverse`. */
typedef struct statistics {
    float scale, mean, inverse;
} statistics;

/* Two passes over the row, the second in cache: the difference of two large sums would lose the variance. */
VF_INLINE statistics statistics_at(const void *x, int64_t n, float scale, float eps, vf_type type) {
    float mean = row_sum(x, n, scale, type) / (float)n;
    float variance = row_sum_centred_squares(x, n, scale, mean, type) / (float)n;
    return (statistics){scale, mean, 1.0f / sqrtf(variance + eps)};
}

static __attribute__((noinline)) statistics rescued_statistics(const void *x, int64_t n, vf_type type) {
    return is_bf16(type) ? statistics_at(x, n, ROW_RESCUE, ROW_RESCUE_EPS, VF_BF16)
                         : statistics_at(x, n, ROW_RESCUE, ROW_RESCUE_EPS, VF_F32);
}

VF_INLINE statistics statistics_of(const void *x, int64_t n, vf_type type) {
    statistics s = statistics_at(x, n, 1.0f, NORM_EPS, type);
    /* 0 or NaN: a sum overflowed, or an element is not finite; in the latter case the second attempt gives the same. */
    return __builtin_expect(!(s.inverse > 0.0f), 0) ? rescued_statistics(x, n, type) : s;
}

static __attribute__((noinline)) statistics careful_statistics(const void *x, int64_t n, vf_type type) {
    return is_bf16(type) ? statistics_of(x, n, VF_BF16) : statistics_of(x, n, VF_F32);
}

/* One pass over the row; two passes, as above, where one is not accurate enough. */
VF_INLINE statistics statistics_by(const row_moments *m, const void *x, int64_t n, vf_type type) {
    float mean, variance;
    if (__builtin_expect(!row_moments_serve(m, n, &mean, &variance), 0)) return careful_statistics(x, n, type);
    return (statistics){1.0f, mean, 1.0f / sqrtf(variance + NORM_EPS)};
}

typedef struct row {
    const void *x;
    const void *gamma;
    const void *beta;
    vf scale, mean, inverse;
    vf_type type;
    vf_gelu_tables gelu;
} row;

VF_INLINE row row_of(const ridge_call *call, int64_t i, statistics s, vf_type type) {
    return (row){
        .x = row_in(&call->in[0], i, type),
        .gamma = ridge_data(&call->in[1]),
        .beta = ridge_data(&call->in[2]),
        .scale = vf_set1(s.scale),
        .mean = vf_set1(s.mean),
        .inverse = vf_set1(s.inverse),
        .type = type,
        .gelu = vf_gelu_prepare(),
    };
}

VF_INLINE vf normalized_one(const row *r, vf x, vf gamma, vf beta) {
    return vf_fma(vf_mul(vf_sub(x, r->mean), r->inverse), gamma, beta);
}
VF_INLINE vf2 normalized_pair(const row *r, vf2 x, int64_t j, int64_t count) {
    vf2 gamma = row_load(r->gamma, j, count, r->type), beta = row_load(r->beta, j, count, r->type);
    return (vf2){normalized_one(r, x.a, gamma.a, beta.a), normalized_one(r, x.b, gamma.b, beta.b)};
}
VF_INLINE vf2 normalized(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    return normalized_pair(r, row_load(r->x, j, count, r->type), j, count);
}
VF_INLINE vf2 normalized_rescued(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    vf2 x = row_load(r->x, j, count, r->type);
    return normalized_pair(r, (vf2){vf_mul(x.a, r->scale), vf_mul(x.b, r->scale)}, j, count);
}

/* ---- optimized: the row stays in cache, the normalized values in registers ---- */

VF_INLINE vf2 activated(const void *state, int64_t j, int64_t count) {
    vf2 h = normalized(state, j, count);
    return (vf2){vf_gelu_by(&((const row *)state)->gelu, h.a), vf_gelu_by(&((const row *)state)->gelu, h.b)};
}
VF_INLINE vf2 activated_rescued(const void *state, int64_t j, int64_t count) {
    vf2 h = normalized_rescued(state, j, count);
    return (vf2){vf_gelu_by(&((const row *)state)->gelu, h.a), vf_gelu_by(&((const row *)state)->gelu, h.b)};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    const bool two = stream && row_pairs_up(&call->out[0], n, type);
    row_moments m = {0};
    if (begin < end) m = row_moments_of(row_in(&call->in[0], begin, type), n, type);
    for (int64_t i = begin; i < end; i++) {
        const void *next = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        statistics s = statistics_by(&m, row_in(&call->in[0], i, type), n, type);
        row r = row_of(call, i, s, type);
        void *y = row_out(&call->out[0], i, type);
        if (two && next && s.scale == 1.0f) {
            m = row_stream_and_take_moments(y, n, type, activated, &r, next);
            continue;
        }
        if (__builtin_expect(s.scale != 1.0f, 0))
            row_map(y, n, type, false, activated_rescued, &r, NULL);
        else
            row_map(y, n, type, stream, activated, &r, next);
        if (next) m = row_moments_of(next, n, type);
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(norm_activation_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: the normalized values go through memory to the activation ---- */

typedef struct temporary {
    const float *t;
    vf_gelu_tables gelu;
} temporary;

VF_INLINE vf2 activated_temporary(const void *state, int64_t j, int64_t count) {
    (void)count;
    const temporary *s = state;
    vf2 h = vf2_load_f32(s->t + j);
    return (vf2){vf_gelu_by(&s->gelu, h.a), vf_gelu_by(&s->gelu, h.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *h = call->scratch;
    for (int64_t i = begin; i < end; i++) {
        statistics s = statistics_of(row_in(&call->in[0], i, type), n, type);
        row r = row_of(call, i, s, type);
        if (__builtin_expect(s.scale != 1.0f, 0))
            row_map_temporary(h + i * pitch, n, normalized_rescued, &r);
        else
            row_map_temporary(h + i * pitch, n, normalized, &r);
    }
    for (int64_t i = begin; i < end; i++) {
        temporary t = {h + i * pitch, vf_gelu_prepare()};
        row_map(row_out(&call->out[0], i, type), n, type, false, activated_temporary, &t, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(norm_activation_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
