/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps): see README.md.
 *
 * Both variants share the arithmetic; they differ in which intermediate values go through memory. */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(l2norm_cpu_baseline);
RIDGE_CPU_DECLARE(l2norm_cpu_optimized);

static const float eps = 1e-12f;

/* ---- one row ---- */

/* Factors of a row: first `scale` (1, except in rows whose squares overflow), then `inverse`. */
typedef struct factors {
    float scale, inverse;
} factors;

static __attribute__((noinline)) float rescued_squares(const void *x, int64_t n, vf_type type) {
    return is_bf16(type) ? row_sum_squares(x, n, ROW_RESCUE, VF_BF16) : row_sum_squares(x, n, ROW_RESCUE, VF_F32);
}

VF_INLINE factors factors_of(float sum, const void *x, int64_t n, vf_type type) {
    if (__builtin_expect(!(sum <= FLT_MAX), 0)) return (factors){ROW_RESCUE, 1.0f / sqrtf(rescued_squares(x, n, type))};
    float norm = sqrtf(sum);
    return (factors){1.0f, 1.0f / (norm < eps ? eps : norm)};
}

typedef struct scaling {
    const void *x;
    vf scale, inverse;
    vf_type type;
} scaling;

VF_INLINE vf2 scaled(const void *state, int64_t j, int64_t count) {
    const scaling *s = state;
    vf2 v = row_load(s->x, j, count, s->type);
    return (vf2){vf_mul(v.a, s->inverse), vf_mul(v.b, s->inverse)};
}
VF_INLINE vf2 scaled_twice(const void *state, int64_t j, int64_t count) {
    const scaling *s = state;
    vf2 v = row_load(s->x, j, count, s->type);
    return (vf2){vf_mul(vf_mul(v.a, s->scale), s->inverse), vf_mul(vf_mul(v.b, s->scale), s->inverse)};
}

VF_INLINE void write_row(void *y, const void *x, int64_t n, factors by, vf_type type, bool stream, const void *ahead) {
    scaling s = {.x = x, .type = type, .scale = vf_set1(by.scale), .inverse = vf_set1(by.inverse)};
    if (__builtin_expect(by.scale != 1.0f, 0))
        row_map(y, n, type, false, scaled_twice, &s, NULL);
    else
        row_map(y, n, type, stream, scaled, &s, ahead);
}

/* ---- optimized: the row stays in cache between its norm and its scaling ---- */

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    const bool two = stream && row_pairs_up(&call->out[0], n, type);
    float sum = begin < end ? row_sum_squares(row_in(&call->in[0], begin, type), n, 1.0f, type) : 0.0f;
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type), *next = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        void *y = row_out(&call->out[0], i, type);
        factors by = factors_of(sum, x, n, type);
        if (two && next && by.scale == 1.0f) {
            scaling s = {.x = x, .type = type, .inverse = vf_set1(by.inverse)};
            sum = row_stream_and_sum_squares(y, n, type, scaled, &s, next);
        } else {
            write_row(y, x, n, by, type, stream, next);
            if (next) sum = row_sum_squares(next, n, 1.0f, type);
        }
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(l2norm_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: squares to memory, then their sums, then the division ---- */

typedef struct squaring {
    const void *x;
    vf_type type;
} squaring;

VF_INLINE vf2 squared(const void *state, int64_t j, int64_t count) {
    const squaring *s = state;
    vf2 v = row_load(s->x, j, count, s->type);
    return (vf2){vf_mul(v.a, v.a), vf_mul(v.b, v.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *squares_of = call->scratch, *sums = squares_of + call->dim[0] * pitch;
    for (int64_t i = begin; i < end; i++) {
        squaring s = {.x = row_in(&call->in[0], i, type), .type = type};
        row_map_temporary(squares_of + i * pitch, n, squared, &s);
    }
    for (int64_t i = begin; i < end; i++) {
        sums[i] = row_sum(squares_of + i * pitch, row_whole_pairs(n), 1.0f, VF_F32);
    }
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        write_row(row_out(&call->out[0], i, type), x, n, factors_of(sums[i], x, n, type), type, false, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(l2norm_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
