/* Sums over a row of f32 or bf16 elements, over 2 * ROW_CHAINS vectors of partial sums. */
#ifndef RIDGE_KERNELS_CPU_ROW_REDUCE_H
#define RIDGE_KERNELS_CPU_ROW_REDUCE_H

#include <float.h>

#include "cpu/row.h"

typedef struct row_reading {
    const void *x;
    vf scale, mean;
    vf_type type;
    row_sums sums;
} row_reading;

VF_INLINE vf2 row_scaled(const row_reading *r, int64_t j, int64_t count) {
    vf2 v = row_load(r->x, j, count, r->type);
    return (vf2){vf_mul(v.a, r->scale), vf_mul(v.b, r->scale)};
}

VF_INLINE void row_add(void *state, int chain, int64_t j, int64_t count) {
    row_reading *r = state;
    vf2 v = row_scaled(r, j, count), *sum = &r->sums.chain[chain];
    *sum = (vf2){vf_add(v.a, sum->a), vf_add(v.b, sum->b)};
}
VF_INLINE void row_add_squares(void *state, int chain, int64_t j, int64_t count) {
    row_reading *r = state;
    vf2 v = row_scaled(r, j, count), *sum = &r->sums.chain[chain];
    *sum = (vf2){vf_fma(v.a, v.a, sum->a), vf_fma(v.b, v.b, sum->b)};
}
VF_INLINE void row_add_centred_squares(void *state, int chain, int64_t j, int64_t count) {
    row_reading *r = state;
    vf2 v = row_scaled(r, j, count), *sum = &r->sums.chain[chain];
    vf2 d = {vf_sub(v.a, r->mean), vf_sub(v.b, r->mean)};
    if (count != VF2_LANES) {
        vf2 present = row_present(count, r->type);
        d = (vf2){vf_mul(d.a, present.a), vf_mul(d.b, present.b)};
    }
    *sum = (vf2){vf_fma(d.a, d.a, sum->a), vf_fma(d.b, d.b, sum->b)};
}

/* Pieces of ROW_PIECE elements are summed in fp32, their sums in fp64: the error does not grow with the row
 * length.
 */
VF_INLINE float row_total(const void *x, int64_t n, float scale, float mean, vf_type type, row_visit_fn f) {
    double total = 0.0;
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        row_reading r = {.x = row_at(x, j, type), .scale = vf_set1(scale), .mean = vf_set1(mean), .type = type};
        row_sums_set(&r.sums, 0.0f);
        row_visit(n - j < ROW_PIECE ? n - j : ROW_PIECE, f, &r);
        total += (double)row_sums_total(&r.sums);
    }
    return (float)total;
}

/* Sums of scale x, (scale x)^2 and (scale x - mean)^2. A constant scale of 1 costs nothing. */
VF_INLINE float row_sum(const void *x, int64_t n, float scale, vf_type type) {
    return row_total(x, n, scale, 0.0f, type, row_add);
}
VF_INLINE float row_sum_squares(const void *x, int64_t n, float scale, vf_type type) {
    return row_total(x, n, scale, 0.0f, type, row_add_squares);
}
VF_INLINE float row_sum_centred_squares(const void *x, int64_t n, float scale, float mean, vf_type type) {
    return row_total(x, n, scale, mean, type, row_add_centred_squares);
}

/* Streams y[j] = f(j) and sums the squares of the next row. See row_stream_and_visit. */
VF_INLINE float row_stream_and_sum_squares(void *y, int64_t n, vf_type type, row_map_fn f, const void *state,
                                           const void *next) {
    double sum = 0.0;
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        row_reading r = {.x = next, .scale = vf_set1(1.0f), .type = type};
        row_sums_set(&r.sums, 0.0f);
        row_stream_and_visit(y, j, n - j < ROW_PIECE ? n : j + ROW_PIECE, type, f, state, row_add_squares, &r, next);
        sum += (double)row_sums_total(&r.sums);
    }
    return (float)sum;
}

/* ---- mean and variance in one pass ----
 *
 * Sums of x - shift and of its square; shift is the mean of the row's first elements. While |mean - shift| is small
 * compared with the row's standard deviation, the variance loses no accuracy (row_moments_serve). */

typedef struct row_moments {
    float shift;
    double sum, squares;
} row_moments;

typedef struct row_shifted {
    const void *x;
    vf shift;
    vf_type type;
    row_sums sums, squares;
} row_shifted;

VF_INLINE void row_add_shifted(void *state, int chain, int64_t j, int64_t count) {
    row_shifted *r = state;
    vf2 v = row_load(r->x, j, count, r->type), *sum = &r->sums.chain[chain], *squares = &r->squares.chain[chain];
    vf2 d = {vf_sub(v.a, r->shift), vf_sub(v.b, r->shift)};
    if (count != VF2_LANES) {
        vf2 present = row_present(count, r->type);
        d = (vf2){vf_mul(d.a, present.a), vf_mul(d.b, present.b)};
    }
    *sum = (vf2){vf_add(d.a, sum->a), vf_add(d.b, sum->b)};
    *squares = (vf2){vf_fma(d.a, d.a, squares->a), vf_fma(d.b, d.b, squares->b)};
}

VF_INLINE row_moments row_moments_begin(const void *x, int64_t n, vf_type type) {
    const int64_t first = n < 128 ? n : 128;
    return (row_moments){.shift = row_sum(x, first, 1.0f, type) / (float)first};
}
VF_INLINE row_shifted row_shifted_begin(const row_moments *m, const void *x, vf_type type) {
    row_shifted r = {.x = x, .shift = vf_set1(m->shift), .type = type};
    row_sums_set(&r.sums, 0.0f);
    row_sums_set(&r.squares, 0.0f);
    return r;
}
VF_INLINE void row_moments_add(row_moments *m, const row_shifted *r) {
    m->sum += (double)row_sums_total(&r->sums);
    m->squares += (double)row_sums_total(&r->squares);
}

VF_INLINE row_moments row_moments_of(const void *x, int64_t n, vf_type type) {
    row_moments m = row_moments_begin(x, n, type);
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        row_shifted r = row_shifted_begin(&m, row_at(x, j, type), type);
        row_visit(n - j < ROW_PIECE ? n - j : ROW_PIECE, row_add_shifted, &r);
        row_moments_add(&m, &r);
    }
    return m;
}

/* Streams y[j] = f(j) and accumulates the moments of the next row. */
VF_INLINE row_moments row_stream_and_take_moments(void *y, int64_t n, vf_type type, row_map_fn f, const void *state,
                                                  const void *next) {
    row_moments m = row_moments_begin(next, n, type);
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        row_shifted r = row_shifted_begin(&m, next, type);
        row_stream_and_visit(y, j, n - j < ROW_PIECE ? n : j + ROW_PIECE, type, f, state, row_add_shifted, &r, next);
        row_moments_add(&m, &r);
    }
    return m;
}

/* Whether the mean is within a quarter of the standard deviation of the shift: the variance then is at least 16/17 of
 * the mean square it is the difference of. False for rows that overflow or are not finite. */
VF_INLINE bool row_moments_serve(const row_moments *m, int64_t n, float *mean, float *variance) {
    const double off = m->sum / (double)n, v = m->squares / (double)n - off * off;
    *mean = (float)((double)m->shift + off);
    *variance = (float)v;
    return 16.0 * off * off <= v && v <= 3e38;
}

/* A power of two that scales any finite row so that its squares and their sum are finite. For rows whose sums are
 * infinite at a scale of 1. Any epsilon is negligible there, but the variance of equal elements is 0, and 0 times an
 * infinite 1 / deviation would be NaN: ROW_RESCUE_EPS keeps it finite. */
#define ROW_RESCUE 0x1p-100f
#define ROW_RESCUE_EPS FLT_MIN

#endif
