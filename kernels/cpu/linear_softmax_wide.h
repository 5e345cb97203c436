/* Variant for numbers of classes that nearly fill whole vectors: vectors run along the classes and scalars of x are
 * broadcast. Neither x nor w is transposed or packed, so that products start with the first line that arrives.
 *
 *   A tile is WIDE_ROWS rows x two or three vectors of classes, over the whole depth.
 *   The last classes, too few for a vector, are dot products with both operands in vectors along the depth. */
#ifndef RIDGE_KERNELS_LINEAR_SOFTMAX_WIDE_H
#define RIDGE_KERNELS_LINEAR_SOFTMAX_WIDE_H

#include <stdbool.h>

#include "cpu/gemm.h"
#include "cpu/linear_softmax.h"
#include "cpu/vec_math.h"

#if defined(RIDGE_ISA_IS_avx512)

enum {
    WIDE_ROWS = 8,
    WIDE_VECTORS = 3, /* most vectors per tile */
    WIDE_REST = LINEAR_WIDE_REST
};

/* What a tile prefetches between its products: the next rows, the output lines of the strip and, in a first tile, its
 * own operands. Requested all at once, they would occupy every outstanding miss of the core before the first product.
 */
typedef struct wide_fetch {
    int64_t rows;        /* distance in floats from a row of x to the row to prefetch; 0: none */
    int64_t own_columns; /* columns of w to prefetch with x; 0: both are in cache */
    const float *out;
    int64_t out_stride, out_each; /* lines of out to prefetch per line along the depth; 0: none */
    int out_rows;
} wide_fetch;

enum { WIDE_X_AHEAD = 64, WIDE_W_AHEAD = 48 };

static inline void wide_fetch_line(const float *const row[WIDE_ROWS], const float *w, int64_t w_stride, int64_t d,
                                   int64_t depth, const wide_fetch *fetch) {
    if (fetch->rows)
        for (int i = 0; i < WIDE_ROWS; i++) vf_prefetch_l2(row[i] + fetch->rows + d);
    for (int64_t k = d / GEMM_LINE * fetch->out_each, end = k + fetch->out_each; k < end; k++)
        __builtin_prefetch(fetch->out + k % fetch->out_rows * fetch->out_stride + k / fetch->out_rows * GEMM_LINE, 1,
                           2);
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

/* The last classes of w as rows, wt[r * depth + d], WIDE_REST of them: those past the classes are zero. */
static void wide_rest(const float *w, int64_t w_stride, int64_t depth, int rest, float *wt) {
    for (int64_t d = 0; d < depth; d++)
        for (int r = 0; r < WIDE_REST; r++) wt[r * depth + d] = r < rest ? w[d * w_stride + r] : 0;
}

/* Lane q of the result is the sum of a[q]. */
static inline vf wide_sums(vf a[16]) {
#pragma GCC unroll 8
    for (int q = 0; q < 8; q++)
        a[q] = vf_add(_mm512_shuffle_f32x4(a[q], a[q + 8], 0x44), _mm512_shuffle_f32x4(a[q], a[q + 8], 0xee));
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
        a[q] = vf_add(_mm512_shuffle_f32x4(a[q], a[q + 4], 0x88), _mm512_shuffle_f32x4(a[q], a[q + 4], 0xdd));
#pragma GCC unroll 2
    for (int q = 0; q < 2; q++) a[q] = vf_add(_mm512_unpacklo_ps(a[q], a[q + 2]), _mm512_unpackhi_ps(a[q], a[q + 2]));
    a[0] = vf_add(_mm512_unpacklo_ps(a[0], a[1]), _mm512_unpackhi_ps(a[0], a[1]));
    return _mm512_shuffle_f32x4(a[0], a[0], 0xd8); /* quarters come as 0 2 1 3 */
}

/* 16 sums: 16 / n rows x n classes. Both are constant after inlining. */
static inline __attribute__((always_inline)) void wide_dots(const int n, const float *const row[], const float *wt,
                                                            int64_t depth, int64_t d, vm m, vf acc[16]) {
    vf wv[4];
#pragma GCC unroll 4
    for (int r = 0; r < n; r++) wv[r] = _mm512_maskz_loadu_ps(m, wt + r * depth + d);
#pragma GCC unroll 8
    for (int i = 0; i < 16 / n; i++) {
        const vf xv = _mm512_maskz_loadu_ps(m, row[i] + d);
#pragma GCC unroll 4
        for (int r = 0; r < n; r++) acc[i * n + r] = vf_fma(xv, wv[r], acc[i * n + r]);
    }
}

static inline __attribute__((always_inline)) void wide_dots_of(const int n, const float *const row[], const float *wt,
                                                               int64_t depth, const float *b, int64_t rest,
                                                               float *logits, int64_t stride) {
    const float *rows[8];
    float sums[16];
    vf acc[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16 / n; i++) rows[i] = row[i];
#pragma GCC unroll 16
    for (int q = 0; q < 16; q++) acc[q] = vf_zero();
    int64_t d = 0;
    for (; d + VF_LANES <= depth; d += VF_LANES) wide_dots(n, rows, wt, depth, d, vm_first(VF_LANES), acc);
    if (d < depth) wide_dots(n, rows, wt, depth, d, vm_first((int)(depth - d)), acc);
    vf_store(sums, wide_sums(acc));
    for (int64_t r = 0; r < rest; r++)
        for (int i = 0; i < 16 / n; i++) logits[i * stride + r] = sums[i * n + r] + b[r];
}

/* The last `rest` classes of all rows; wt has WIDE_REST rows. */
static void wide_dots_rows(const float *const row[WIDE_ROWS], const float *wt, int64_t depth, const float *b,
                           int64_t rest, float *logits, int64_t stride) {
    if (rest <= 2) {
        wide_dots_of(2, row, wt, depth, b, rest, logits, stride);
    } else {
        wide_dots_of(4, row, wt, depth, b, rest, logits, stride);
        wide_dots_of(4, row + 4, wt, depth, b, rest, logits + 4 * stride, stride);
    }
}

/* Softmax of n rows in lockstep, which hides the latency of each row's reductions. Lanes past the classes become -inf,
 * which adds nothing to the sum. */
static void wide_softmax(float *z, int64_t stride, int n, int64_t classes, float *y, int64_t y_stride) {
    const int64_t whole = classes / VF_LANES * VF_LANES;
    const int rest = (int)(classes - whole);
    float max[WIDE_ROWS], scale[WIDE_ROWS];
    for (int i = 0; i < n; i++) {
        float *row = z + i * stride;
        vf m = vf_select(vm_first(rest), vf_load(row + whole), vf_set1(-INFINITY));
        vf_store(row + whole, m);
        for (int64_t c = 0; c < whole; c += VF_LANES) m = vf_max(m, vf_load(row + c));
        max[i] = vf_hmax(m);
    }
    for (int i = 0; i < n; i++) {
        float *row = z + i * stride;
        const vf m = vf_set1(max[i]);
        vf sum = vf_zero();
        for (int64_t c = 0; c < classes; c += VF_LANES) {
            const vf e = vf_exp_bounded(vf_sub(vf_load(row + c), m));
            sum = vf_add(sum, e);
            vf_store(row + c, e);
        }
        scale[i] = 1.0f / vf_sum(sum);
    }
    for (int i = 0; i < n; i++) {
        const float *row = z + i * stride;
        float *to = y + i * y_stride;
        const vf by = vf_set1(scale[i]);
        for (int64_t c = 0; c < whole; c += VF_LANES) vf_store(to + c, vf_mul(vf_load(row + c), by));
        if (rest) vf_store_n(to + whole, rest, vf_mul(vf_load(row + whole), by));
    }
}

#endif
#endif
