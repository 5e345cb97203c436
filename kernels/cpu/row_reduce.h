/* Sums over a row of f32 or bf16 elements, over 2 * ROW_CHAINS vectors of partial sums. */
#ifndef RIDGE_KERNELS_CPU_ROW_REDUCE_H
#define RIDGE_KERNELS_CPU_ROW_REDUCE_H

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

/* Pieces of ROW_REDUCE_PIECE elements are summed in fp32 and their sums in fp64: the error does not grow with the row.
 */
VF_INLINE float row_total(const void *x, int64_t n, float scale, float mean, vf_type type, row_visit_fn f) {
    double total = 0.0;
    for (int64_t j = 0; j < n; j += ROW_REDUCE_PIECE) {
        row_reading r = {.x = row_at(x, j, type), .scale = vf_set1(scale), .mean = vf_set1(mean), .type = type};
        row_sums_set(&r.sums, 0.0f);
        row_visit(n - j < ROW_REDUCE_PIECE ? n - j : ROW_REDUCE_PIECE, f, &r);
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

/* A power of two that brings any finite row to where its squares, and the sum of them, are finite. For rows whose sums
 * came out infinite at a scale of 1; then whatever a sum is compared with, such as an epsilon, is nothing beside it. */
#define ROW_RESCUE 0x1p-100f

#endif
