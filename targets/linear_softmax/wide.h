/* The other way round, for classes that fill whole vectors but for a few: vectors run along the classes, scalars of x
 * are spread. Neither x nor w is transposed or packed, so that the first product starts with the first line that
 * arrives.
 *
 *   A tile is WIDE_ROWS rows x two or three vectors of classes, over the whole depth.
 *   The last classes, fewer than would be worth a vector, are dot products: vectors along the depth, on both sides. */
#ifndef RIDGE_TARGET_LINEAR_WIDE_H
#define RIDGE_TARGET_LINEAR_WIDE_H

#include <stdbool.h>

#include "cpu/gemm.h"
#include "cpu/vec_math.h"

#if defined(RIDGE_ISA_IS_avx512)

enum {
    WIDE_ROWS = 8,
    WIDE_VECTORS = 3, /* of a tile, at most */
    WIDE_REST = 4,    /* classes by dot products, at most */
    WIDE_DOTS = 2,    /* of them at a time */
    WIDE_W = 160000   /* floats of w that stay in the second-level cache beside everything else */
};

/* What a tile fetches beside its products: the rows that follow, and in a first tile its own operands. */
typedef struct wide_fetch {
    int64_t rows;        /* floats from a row of x to the one that takes its place; 0: nothing */
    int64_t own_columns; /* columns of w to fetch ahead, with x; 0: both are in cache */
} wide_fetch;

static inline bool wide_suits(int64_t classes, int64_t depth) {
    return classes >= 2 * VF_LANES && classes <= 256 && classes % VF_LANES <= WIDE_REST && classes * depth <= WIDE_W;
}

enum { WIDE_X_AHEAD = 64, WIDE_W_AHEAD = 48 };

static inline void wide_fetch_line(const float *const row[WIDE_ROWS], const float *w, int64_t w_stride, int64_t d,
                                   int64_t depth, const wide_fetch *fetch) {
    if (fetch->rows)
        for (int i = 0; i < WIDE_ROWS; i++) vf_prefetch_l2(row[i] + fetch->rows + d);
    if (!fetch->own_columns) return;
    for (int i = 0; i < WIDE_ROWS && d + WIDE_X_AHEAD < depth; i++) vf_prefetch(row[i] + d + WIDE_X_AHEAD);
    for (int64_t q = d + WIDE_W_AHEAD; q < d + WIDE_W_AHEAD + GEMM_LINE && q < depth; q++)
        for (int64_t c = 0; c < fetch->own_columns; c += GEMM_LINE) vf_prefetch_l2(w + q * w_stride + c);
}

/* nv is constant after inlining, so that acc lives in registers. */
static inline __attribute__((always_inline)) void wide_tile(const int nv, const float *const row[WIDE_ROWS],
                                                            const float *w, int64_t w_stride, int64_t depth,
                                                            const float *b, float *logits, int64_t stride,
                                                            const wide_fetch *fetch) {
    vf acc[WIDE_ROWS][WIDE_VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < WIDE_ROWS; i++)
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++) acc[i][v] = vf_load(b + v * VF_LANES);
    const float *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3], *r4 = row[4], *r5 = row[5], *r6 = row[6],
                *r7 = row[7], *p = w;
    for (int64_t d = 0; d < depth;) {
        wide_fetch_line(row, w, w_stride, d, depth, fetch);
        const int64_t end = d + GEMM_LINE < depth ? d + GEMM_LINE : depth;
        for (; d < end; d++, p += w_stride) {
            vf wv[WIDE_VECTORS];
            const float x[WIDE_ROWS] = {r0[d], r1[d], r2[d], r3[d], r4[d], r5[d], r6[d], r7[d]};
#pragma GCC unroll 3
            for (int v = 0; v < nv; v++) wv[v] = vf_load(p + v * VF_LANES);
#pragma GCC unroll 8
            for (int i = 0; i < WIDE_ROWS; i++)
#pragma GCC unroll 3
                for (int v = 0; v < nv; v++) acc[i][v] = vf_fma(vf_set1(x[i]), wv[v], acc[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < WIDE_ROWS; i++)
#pragma GCC unroll 3
        for (int v = 0; v < nv; v++) vf_store(logits + i * stride + v * VF_LANES, acc[i][v]);
}

static void wide_tile_2(const float *const row[WIDE_ROWS], const float *w, int64_t w_stride, int64_t depth,
                        const float *b, float *logits, int64_t stride, const wide_fetch *fetch) {
    wide_tile(2, row, w, w_stride, depth, b, logits, stride, fetch);
}
static void wide_tile_3(const float *const row[WIDE_ROWS], const float *w, int64_t w_stride, int64_t depth,
                        const float *b, float *logits, int64_t stride, const wide_fetch *fetch) {
    wide_tile(3, row, w, w_stride, depth, b, logits, stride, fetch);
}

/* The last classes of w as rows, wt[r * depth + d]. */
static void wide_rest(const float *w, int64_t w_stride, int64_t depth, int rest, float *wt) {
    for (int64_t d = 0; d < depth; d++)
        for (int r = 0; r < rest; r++) wt[r * depth + d] = w[d * w_stride + r];
}

static inline __attribute__((always_inline)) void wide_dots(const int n, const float *const row[WIDE_ROWS],
                                                            const float *wt, int64_t depth, const float *b,
                                                            float *logits, int64_t stride) {
    vf acc[WIDE_ROWS][WIDE_DOTS];
#pragma GCC unroll 8
    for (int i = 0; i < WIDE_ROWS; i++)
#pragma GCC unroll 2
        for (int r = 0; r < n; r++) acc[i][r] = vf_zero();
    const float *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3], *r4 = row[4], *r5 = row[5], *r6 = row[6],
                *r7 = row[7];
    for (int64_t d = 0; d < depth; d += VF_LANES) {
        const vm m = depth - d < VF_LANES ? vm_first((int)(depth - d)) : vm_first(VF_LANES);
        const float *const x[WIDE_ROWS] = {r0 + d, r1 + d, r2 + d, r3 + d, r4 + d, r5 + d, r6 + d, r7 + d};
        vf wv[WIDE_DOTS];
#pragma GCC unroll 2
        for (int r = 0; r < n; r++) wv[r] = _mm512_maskz_loadu_ps(m, wt + r * depth + d);
#pragma GCC unroll 8
        for (int i = 0; i < WIDE_ROWS; i++) {
            const vf xv = _mm512_maskz_loadu_ps(m, x[i]);
#pragma GCC unroll 2
            for (int r = 0; r < n; r++) acc[i][r] = vf_fma(xv, wv[r], acc[i][r]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < WIDE_ROWS; i++)
#pragma GCC unroll 2
        for (int r = 0; r < n; r++) logits[i * stride + r] = vf_sum(acc[i][r]) + b[r];
}

static void wide_dots_1(const float *const row[WIDE_ROWS], const float *wt, int64_t depth, const float *b,
                        float *logits, int64_t stride) {
    wide_dots(1, row, wt, depth, b, logits, stride);
}
static void wide_dots_2(const float *const row[WIDE_ROWS], const float *wt, int64_t depth, const float *b,
                        float *logits, int64_t stride) {
    wide_dots(2, row, wt, depth, b, logits, stride);
}

/* One row. What the last vector has past the classes becomes -inf, which adds nothing to the sum. */
static void wide_softmax(float *z, int64_t classes, float *y) {
    const int64_t whole = classes / VF_LANES * VF_LANES;
    const int rest = (int)(classes - whole);
    vf m = vf_select(vm_first(rest), vf_load(z + whole), vf_set1(-INFINITY)), sum = vf_zero();
    vf_store(z + whole, m);
    for (int64_t c = 0; c < whole; c += VF_LANES) m = vf_max(m, vf_load(z + c));
    m = vf_set1(vf_hmax(m));
    for (int64_t c = 0; c < classes; c += VF_LANES) {
        const vf e = vf_exp_bounded(vf_sub(vf_load(z + c), m));
        sum = vf_add(sum, e);
        vf_store(z + c, e);
    }
    const vf scale = vf_set1(1.0f / vf_sum(sum));
    for (int64_t c = 0; c < whole; c += VF_LANES) vf_store(y + c, vf_mul(vf_load(z + c), scale));
    if (rest) vf_store_n(y + whole, rest, vf_mul(vf_load(z + whole), scale));
}

#endif
#endif
