/* y = silu(r x gamma), r = 1 / sqrt(mean(x^2) + eps), silu(h) = h / (1 + exp(-h)),
 * independently for each row: see README.md. */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/vec_math.h"
#include "norm_activation_rms.h"

RIDGE_CPU_DECLARE(norm_activation_rms_cpu_baseline);
RIDGE_CPU_DECLARE(norm_activation_rms_cpu_optimized);

/* ---- statistics of one row ---- */

/* A row is multiplied by `scale` (1, except in rows whose squares overflow), then by `inverse`. */
typedef struct statistics {
    float scale, inverse;
} statistics;

VF_INLINE statistics statistics_by(float sum, int64_t n, float scale, float eps) {
    return (statistics){scale, 1.0f / sqrtf(sum / (float)n + eps)};
}

static __attribute__((noinline)) statistics rescued_statistics(const void *x, int64_t n, vf_type type) {
    float sum = is_bf16(type) ? row_sum_squares(x, n, ROW_RESCUE, VF_BF16) : row_sum_squares(x, n, ROW_RESCUE, VF_F32);
    return statistics_by(sum, n, ROW_RESCUE, 0.0f);
}

/* Computes the factors from the sum of the row's squares. */
VF_INLINE statistics statistics_of(float sum, const void *x, int64_t n, vf_type type) {
    statistics s = statistics_by(sum, n, 1.0f, NORM_EPS);
    /* 0: the squares, or their sum, overflowed. NaN stays as it is. */
    return __builtin_expect(s.inverse == 0.0f, 0) ? rescued_statistics(x, n, type) : s;
}

typedef struct row {
    const void *x;
    const void *gamma;
    vf scale, inverse;
    vf_type type;
} row;

VF_INLINE row row_of(const ridge_call *call, int64_t i, statistics s, vf_type type) {
    return (row){
        .x = row_in(&call->in[0], i, type),
        .gamma = ridge_data(&call->in[1]),

        .scale = vf_set1(s.scale),

        .inverse = vf_set1(s.inverse),
        .type = type,
    };
}

VF_INLINE vf2 normalized(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    vf2 x = row_load(r->x, j, count, r->type), gamma = row_load(r->gamma, j, count, r->type);
    return (vf2){vf_mul(vf_mul(x.a, r->inverse), gamma.a), vf_mul(vf_mul(x.b, r->inverse), gamma.b)};
}
VF_INLINE vf2 normalized_rescued(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    vf2 x = row_load(r->x, j, count, r->type), gamma = row_load(r->gamma, j, count, r->type);
    x = (vf2){vf_mul(x.a, r->scale), vf_mul(x.b, r->scale)};
    return (vf2){vf_mul(vf_mul(x.a, r->inverse), gamma.a), vf_mul(vf_mul(x.b, r->inverse), gamma.b)};
}

/* ---- optimized: the row stays in cache, the normalized values in registers ---- */

VF_INLINE vf2 activated(const void *state, int64_t j, int64_t count) {
    vf2 h = normalized(state, j, count);
    return (vf2){vf_silu(h.a), vf_silu(h.b)};
}
VF_INLINE vf2 activated_rescued(const void *state, int64_t j, int64_t count) {
    vf2 h = normalized_rescued(state, j, count);
    return (vf2){vf_silu(h.a), vf_silu(h.b)};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    const bool two = stream && row_pairs_up(&call->out[0], n, type);
    float sum = begin < end ? row_sum_squares(row_in(&call->in[0], begin, type), n, 1.0f, type) : 0.0f;
    for (int64_t i = begin; i < end; i++) {
        const void *next = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        statistics s = statistics_of(sum, row_in(&call->in[0], i, type), n, type);
        row r = row_of(call, i, s, type);
        void *y = row_out(&call->out[0], i, type);
        if (two && next && s.scale == 1.0f) {
            sum = row_stream_and_sum_squares(y, n, type, activated, &r, next);
            continue;
        }
        if (__builtin_expect(s.scale != 1.0f, 0))
            row_map(y, n, type, false, activated_rescued, &r, NULL);
        else
            row_map(y, n, type, stream, activated, &r, next);
        if (next) sum = row_sum_squares(next, n, 1.0f, type);
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(norm_activation_rms_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: the normalized values go through memory to the activation ---- */

typedef struct temporary {
    const float *t;
} temporary;

VF_INLINE vf2 activated_temporary(const void *state, int64_t j, int64_t count) {
    (void)count;
    const temporary *s = state;
    vf2 h = vf2_load_f32(s->t + j);
    return (vf2){vf_silu(h.a), vf_silu(h.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *h = call->scratch;
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        statistics s = statistics_of(row_sum_squares(x, n, 1.0f, type), x, n, type);
        row r = row_of(call, i, s, type);
        if (__builtin_expect(s.scale != 1.0f, 0))
            row_map_temporary(h + i * pitch, n, normalized_rescued, &r);
        else
            row_map_temporary(h + i * pitch, n, normalized, &r);
    }
    for (int64_t i = begin; i < end; i++) {
        temporary t = {h + i * pitch};
        row_map(row_out(&call->out[0], i, type), n, type, false, activated_temporary, &t, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(norm_activation_rms_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
