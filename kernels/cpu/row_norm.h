/* Norms of rows, with an activation and with a residual, on a CPU (model/row_norm.h). Included once by a target's
 * cpu.c, which defines ROW_NORM_NAME, _KIND, _RESIDUAL, _WEIGHTS and, without options, _FIXED as its target.c does.
 * With ROW_NORM_SQUARES its baseline is cpu.c's own. */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/row_weights.h"
#include "cpu/vec_activation.h"
#include "model/row_norm.h"
#include "model/token.h"

#ifndef ROW_NORM_FIXED
#define ROW_NORM_FIXED 0, 0
#endif
#define ROW_NORM_FN(what) TOKEN_JOIN(ROW_NORM_NAME, what)
TOKEN_DECLARE_CPU(ROW_NORM_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_NORM_FN(cpu_optimized));

static const row_norm_form form = {ROW_NORM_KIND, ROW_NORM_RESIDUAL, ROW_NORM_FIXED};
enum { WEIGHTS = ROW_NORM_WEIGHTS, FIRST_WEIGHT = 1 + ROW_NORM_RESIDUAL };

/* ---- statistics of one row ---- */

/* A row is multiplied by `scale` (1, except in rows whose squares overflow), its mean is subtracted, and the difference
 * is multiplied by `inverse`. */
typedef struct statistics {
    float scale, mean, inverse;
} statistics;

VF_INLINE float inverse_of(float squares, int64_t n, float eps) {
    if (form.kind != ROW_NORM_L2) return 1.0f / sqrtf(squares / (float)n + eps);
    const float norm = sqrtf(squares);
    return 1.0f / (norm < eps ? eps : norm);
}

/* Two passes over the row, the second in cache: the difference of two large sums would lose the variance. */
VF_INLINE statistics statistics_at(const void *x, int64_t n, float scale, float eps, vf_type type) {
    if (form.kind != ROW_NORM_LAYER)
        return (statistics){scale, 0.0f, inverse_of(row_sum_squares(x, n, scale, type), n, eps)};
    const float mean = row_sum(x, n, scale, type) / (float)n;
    return (statistics){scale, mean, inverse_of(row_sum_centred_squares(x, n, scale, mean, type), n, eps)};
}
static __attribute__((noinline)) statistics rescued_statistics(const void *x, int64_t n, vf_type type) {
    return is_bf16(type) ? statistics_at(x, n, ROW_RESCUE, ROW_RESCUE_EPS, VF_BF16)
                         : statistics_at(x, n, ROW_RESCUE, ROW_RESCUE_EPS, VF_F32);
}
/* An inverse of 0 or NaN: a sum overflowed, or an element is not finite; in the latter case the second attempt gives
 * the same. */
VF_INLINE statistics rescued_if_needed(statistics s, const void *x, int64_t n, vf_type type) {
    return __builtin_expect(!(s.inverse > 0.0f), 0) ? rescued_statistics(x, n, type) : s;
}
VF_INLINE statistics statistics_of(const void *x, int64_t n, float eps, vf_type type) {
    return rescued_if_needed(statistics_at(x, n, 1.0f, eps, type), x, n, type);
}
static __attribute__((noinline)) statistics careful_statistics(const void *x, int64_t n, float eps, vf_type type) {
    return is_bf16(type) ? statistics_of(x, n, eps, VF_BF16) : statistics_of(x, n, eps, VF_F32);
}

/* What one reading of a row gives: but for a layer norm, `squares` alone. */
VF_INLINE row_moments moments_of(const void *x, int64_t n, vf_type type) {
    if (form.kind == ROW_NORM_LAYER) return row_moments_of(x, n, type);
    return (row_moments){.squares = (double)row_sum_squares(x, n, 1.0f, type)};
}
/* The same of the next row, while y[j] = f(j) is streamed. */
VF_INLINE row_moments stream_and_take_moments(void *y, int64_t n, vf_type type, row_map_fn f, const void *state,
                                              const void *next) {
    if (form.kind == ROW_NORM_LAYER) return row_stream_and_take_moments(y, n, type, f, state, next);
    return (row_moments){.squares = (double)row_stream_and_sum_squares(y, n, type, f, state, next)};
}
/* By two passes where one is not accurate enough. */
VF_INLINE statistics statistics_by(const row_moments *m, const void *x, int64_t n, float eps, vf_type type) {
    float mean, variance;
    if (form.kind != ROW_NORM_LAYER)
        return rescued_if_needed((statistics){1.0f, 0.0f, inverse_of((float)m->squares, n, eps)}, x, n, type);
    if (__builtin_expect(!row_moments_serve(m, n, &mean, &variance), 0)) return careful_statistics(x, n, eps, type);
    return (statistics){1.0f, mean, 1.0f / sqrtf(variance + eps)};
}

/* ---- elements ---- */

typedef struct row {
    const void *x;
    const void *gamma, *beta; /* NULL where the norm has none */
    vf scale, mean, inverse;
    bool rescued; /* scale is not 1 */
    vf_type type, weights;
    int activation;
    vf_gelu_tables gelu;
} row;

VF_INLINE vf2 normalized_pair(const row *r, vf2 v, int64_t j, int64_t count) {
    if (form.kind == ROW_NORM_LAYER) v = (vf2){vf_sub(v.a, r->mean), vf_sub(v.b, r->mean)};
    v = (vf2){vf_mul(v.a, r->inverse), vf_mul(v.b, r->inverse)};
    if (WEIGHTS == 0) return v;
    const vf2 gamma = row_weights(r->gamma, j, count, r->type, r->weights);
    if (WEIGHTS == 1) return (vf2){vf_mul(v.a, gamma.a), vf_mul(v.b, gamma.b)};
    const vf2 beta = row_weights(r->beta, j, count, r->type, r->weights);
    return (vf2){vf_fma(v.a, gamma.a, beta.a), vf_fma(v.b, gamma.b, beta.b)};
}
VF_INLINE vf2 normalized(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    return normalized_pair(r, row_load(r->x, j, count, r->type), j, count);
}
VF_INLINE vf2 normalized_rescued(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 v = row_load(r->x, j, count, r->type);
    return normalized_pair(r, (vf2){vf_mul(v.a, r->scale), vf_mul(v.b, r->scale)}, j, count);
}
VF_INLINE vf2 activated(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    return vf2_activate(r->activation, &r->gelu, normalized(state, j, count));
}
VF_INLINE vf2 activated_rescued(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    return vf2_activate(r->activation, &r->gelu, normalized_rescued(state, j, count));
}

VF_INLINE row row_of(const ridge_call *call, vf_type type) {
    return (row){.gamma = WEIGHTS > 0 ? ridge_data(&call->in[FIRST_WEIGHT]) : NULL,
                 .beta = WEIGHTS > 1 ? ridge_data(&call->in[FIRST_WEIGHT + 1]) : NULL,
                 .type = type,
                 .weights = WEIGHTS > 0 && row_norm_wide(form, call->option) ? VF_F32 : type,
                 .activation = row_norm_activation(form, call->option),
                 .gelu = vf_gelu_prepare()};
}
VF_INLINE void set_row(row *r, const void *x, statistics s) {
    r->x = x;
    r->scale = vf_set1(s.scale), r->mean = vf_set1(s.mean), r->inverse = vf_set1(s.inverse);
    r->rescued = s.scale != 1.0f;
}
/* y, the row's, is written by `stream`ing stores or ordinary ones. */
VF_INLINE void write_row(void *y, int64_t n, vf_type type, bool stream, const row *r, const void *ahead) {
    if (__builtin_expect(r->rescued, 0))
        row_map(y, n, type, false, activated_rescued, r, NULL);
    else
        row_map(y, n, type, stream, activated, r, ahead);
}

/* ---- the residual ---- */

typedef struct addition {
    const void *x, *residual;
    vf_type type;
} addition;

VF_INLINE vf2 added(const void *state, int64_t j, int64_t count) {
    const addition *a = state;
    const vf2 x = row_load(a->x, j, count, a->type), y = row_load(a->residual, j, count, a->type);
    return (vf2){vf_add(x.a, y.a), vf_add(x.b, y.b)};
}
/* Row i as the norm sees it; the sum is stored first where there is one. */
VF_INLINE const void *summed(const ridge_call *call, int64_t i, vf_type type) {
    const void *x = row_in(&call->in[0], i, type);
    if (!form.residual) return x;
    const addition a = {x, row_in(&call->in[1], i, type), type};
    void *sum = row_out(&call->out[ROW_NORM_RESIDUAL], i, type);
    row_map(sum, call->dim[1], type, false, added, &a, NULL);
    return sum;
}

/* ---- optimized: the row stays in cache, the normalized values in registers ---- */

/* Without a residual, a row is written while the next one's statistics are taken. */
VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams((form.residual ? 4.0 : 2.0) * (double)call->dim[0] * (double)row_bytes(n, type));
    const bool two = stream && !form.residual && row_pairs_up(&call->out[0], n, type);
    const float eps = row_norm_eps(form, call->option);
    row r = row_of(call, type);
    row_moments m = {0};
    const void *x = begin < end ? summed(call, begin, type) : NULL;
    if (x) m = moments_of(x, n, type);
    for (int64_t i = begin; i < end; i++) {
        const void *next = i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL;
        void *y = row_out(&call->out[0], i, type);
        set_row(&r, x, statistics_by(&m, x, n, eps, type));
        if (two && next && !r.rescued) {
            m = stream_and_take_moments(y, n, type, activated, &r, next);
            x = next;
            continue;
        }
        write_row(y, n, type, stream, &r, next);
        if (!next) break;
        x = summed(call, i + 1, type);
        m = moments_of(x, n, type);
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(ROW_NORM_FN(cpu_optimized))(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: each step goes through memory ---- */

#ifndef ROW_NORM_SQUARES
typedef struct temporary {
    const row *r;
    const float *t;
} temporary;

VF_INLINE vf2 activated_temporary(const void *state, int64_t j, int64_t count) {
    (void)count;
    const temporary *s = state;
    return vf2_activate(s->r->activation, &s->r->gelu, vf2_load_f32(s->t + j));
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    const float eps = row_norm_eps(form, call->option);
    float *h = call->scratch;
    row r = row_of(call, type);
    for (int64_t i = begin; i < end; i++) (void)summed(call, i, type);
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(form.residual ? &call->out[ROW_NORM_RESIDUAL] : &call->in[0], i, type);
        set_row(&r, x, statistics_of(x, n, eps, type));
        if (__builtin_expect(r.rescued, 0))
            row_map_temporary(h + i * pitch, n, normalized_rescued, &r);
        else
            row_map_temporary(h + i * pitch, n, normalized, &r);
    }
    for (int64_t i = begin; i < end; i++) {
        const temporary t = {&r, h + i * pitch};
        row_map(row_out(&call->out[0], i, type), n, type, false, activated_temporary, &t, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(ROW_NORM_FN(cpu_baseline))(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
#endif
