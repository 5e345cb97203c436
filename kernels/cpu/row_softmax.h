/* Forms of softmax of rows on a CPU (model/row_softmax.h). Included once by a target's cpu.c, which defines
 * ROW_SOFTMAX_NAME and ROW_SOFTMAX_MASKED as its target.c does.
 *
 * Running maxima start at -FLT_MAX, not at -inf: a row of -inf then sums to 0 and becomes NaN, as it must. */
#include <float.h>
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/vec_math.h"
#include "model/row_softmax.h"
#include "model/token.h"

#define ROW_SOFTMAX_FN(what) TOKEN_JOIN(ROW_SOFTMAX_NAME, what)
TOKEN_DECLARE_CPU(ROW_SOFTMAX_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_SOFTMAX_FN(cpu_optimized));

/* ---- a row's elements ---- */

typedef struct row {
    const void *x, *mask;
    const float *t; /* where z or exponentials have been stored */
    vf scale, max, last;
    vf_type type;
    bool log;
    row_sums sums;
} row;

/* Missing elements are -infinity. */
VF_INLINE vf2 logits(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 x = row_load_low(r->x, j, count, r->type);
    if (!ROW_SOFTMAX_MASKED) return (vf2){vf_mul(x.a, r->scale), vf_mul(x.b, r->scale)};
    const vf2 mask = row_load(r->mask, j, count, r->type);
    return (vf2){vf_fma(x.a, r->scale, mask.a), vf_fma(x.b, r->scale, mask.b)};
}
VF_INLINE vf exponential(vf z, vf max) { return vf_exp2(vf_mul(vf_sub(z, max), vf_set1(LOG2_E))); }
VF_INLINE vf2 exponentials(const row *r, vf2 z) { return (vf2){exponential(z.a, r->max), exponential(z.b, r->max)}; }
/* last: 1 / sum, or its logarithm. */
VF_INLINE vf2 quotients(const row *r, vf2 z) {
    if (r->log) return (vf2){vf_sub(vf_sub(z.a, r->max), r->last), vf_sub(vf_sub(z.b, r->max), r->last)};
    const vf2 e = exponentials(r, z);
    return (vf2){vf_mul(e.a, r->last), vf_mul(e.b, r->last)};
}

VF_INLINE void add(row_sums *sums, int chain, vf2 v) {
    sums->chain[chain].a = vf_add(v.a, sums->chain[chain].a);
    sums->chain[chain].b = vf_add(v.b, sums->chain[chain].b);
}
VF_INLINE void raise_to(row_sums *sums, int chain, vf2 v) {
    sums->chain[chain].a = vf_max(v.a, sums->chain[chain].a);
    sums->chain[chain].b = vf_max(v.b, sums->chain[chain].b);
}

VF_INLINE row row_of(const ridge_call *call, int64_t i, vf_type type) {
    return (row){.x = row_in(&call->in[0], i, type),
                 .mask = ROW_SOFTMAX_MASKED ? row_in(&call->in[ROW_SOFTMAX_MASKED], i, type) : NULL,
                 .scale = vf_set1((float)call->option[ROW_SOFTMAX_SCALE]),
                 .type = type,
                 .log = call->option[ROW_SOFTMAX_LOG] > 0};
}
VF_INLINE int64_t seen(const ridge_call *call, int64_t i) {
    return row_softmax_seen(i, call->dim[1], ROW_SOFTMAX_MASKED ? 0 : (int64_t)call->option[ROW_SOFTMAX_CAUSAL]);
}
/* The largest logit has an exponential of 1, of which vf_exp2 may miss an ulp: no probability has a positive logarithm.
 * NaN stays, and 0, the sum of a row of nothing but -infinity. */
VF_INLINE float last_of(const row *r, double sum) {
    return r->log ? (float)log(sum > 0.0 && sum < 1.0 ? 1.0 : sum) : 1.0f / (float)sum;
}

/* Columns behind those that the row sees. */
VF_INLINE void fill_unseen(const ridge_call *call, int64_t i, bool log_of, vf_type type) {
    void *y = row_out(&call->out[0], i, type);
    for (int64_t j = seen(call, i); j < call->dim[1]; j++)
        if (is_bf16(type))
            ((uint16_t *)y)[j] = log_of ? 0xff80 : 0;
        else
            ((float *)y)[j] = log_of ? -__builtin_inff() : 0.0f;
}

/* ---- optimized: three readings of a row, all but the first in cache ---- */

VF_INLINE void take_max(void *state, int chain, int64_t j, int64_t count) {
    row *r = state;
    raise_to(&r->sums, chain, logits(r, j, count));
}
VF_INLINE void add_exponentials(void *state, int chain, int64_t j, int64_t count) {
    row *r = state;
    add(&r->sums, chain, exponentials(r, logits(r, j, count)));
}
VF_INLINE vf2 results(const void *state, int64_t j, int64_t count) { return quotients(state, logits(state, j, count)); }

/* A sum over pieces, in fp64: the error does not grow with the row's length. */
VF_INLINE double sum_of(const row *r, int64_t n, row_visit_fn f) {
    double total = 0.0;
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        row piece = *r;
        piece.x = row_at(r->x, j, r->type);
        if (ROW_SOFTMAX_MASKED) piece.mask = row_at(r->mask, j, r->type);
        if (r->t) piece.t = r->t + j;
        row_sums_set(&piece.sums, 0.0f);
        row_visit(n - j < ROW_PIECE ? n - j : ROW_PIECE, f, &piece);
        total += (double)row_sums_total(&piece.sums);
    }
    return total;
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t cols = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(cols, type));
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = seen(call, i);
        row r = row_of(call, i, type);
        row_sums_set(&r.sums, -FLT_MAX);
        row_visit(n, take_max, &r);
        r.max = vf_set1(row_sums_max(&r.sums));
        r.last = vf_set1(last_of(&r, sum_of(&r, n, add_exponentials)));
        row_map(row_out(&call->out[0], i, type), n, type, stream, results, &r,
                i + 1 < end ? row_in(&call->in[0], i + 1, type) : NULL);
        fill_unseen(call, i, r.log, type);
    }
    vf_fence();
}

/* ---- baseline: each step goes through memory ---- */

VF_INLINE vf2 stored(const row *r, int64_t j) { return vf2_load_f32(r->t + j); }
VF_INLINE void take_stored_max(void *state, int chain, int64_t j, int64_t count) {
    (void)count;
    row *r = state;
    raise_to(&r->sums, chain, stored(r, j));
}
VF_INLINE void add_stored(void *state, int chain, int64_t j, int64_t count) {
    (void)count;
    row *r = state;
    add(&r->sums, chain, stored(r, j));
}
VF_INLINE vf2 stored_exponentials(const void *state, int64_t j, int64_t count) {
    (void)count;
    return exponentials(state, stored(state, j));
}
VF_INLINE vf2 stored_results(const void *state, int64_t j, int64_t count) {
    (void)count;
    return quotients(state, stored(state, j));
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t rows = call->dim[0], pitch = row_temporary_length(call->dim[1]);
    float *z = call->scratch, *e = z + rows * pitch, *maxima = e + rows * pitch, *sums = maxima + rows;
    for (int64_t i = begin; i < end; i++) {
        const row r = row_of(call, i, type);
        row_map_temporary(z + i * pitch, seen(call, i), logits, &r);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.t = z + i * pitch;
        row_sums_set(&r.sums, -FLT_MAX);
        row_visit(seen(call, i), take_stored_max, &r);
        maxima[i] = row_sums_max(&r.sums);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.t = z + i * pitch, r.max = vf_set1(maxima[i]);
        row_map_temporary(e + i * pitch, seen(call, i), stored_exponentials, &r);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.t = e + i * pitch;
        sums[i] = (float)sum_of(&r, seen(call, i), add_stored);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.t = z + i * pitch, r.max = vf_set1(maxima[i]), r.last = vf_set1(last_of(&r, (double)sums[i]));
        row_map(row_out(&call->out[0], i, type), seen(call, i), type, false, stored_results, &r, NULL);
        fill_unseen(call, i, r.log, type);
    }
}

/* ---- storage types ---- */

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(ROW_SOFTMAX_FN(cpu_optimized))(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}
ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(ROW_SOFTMAX_FN(cpu_baseline))(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
