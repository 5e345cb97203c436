/* The scratch of the CPU variants, which target.c plans and cpu.c uses: decoded weights, then x and y, gate and up values, and that
 * of products, of all rows or of a thread's block. */
#ifndef RIDGE_FP8_FFN_CPU_H
#define RIDGE_FP8_FFN_CPU_H

#include "cpu/ffn_rows.h"

/* Whole lines of 64 bytes. */
static inline int64_t fp8_ffn_floats(int64_t n) { return (n + 15) / 16 * 16; }

static inline size_t fp8_ffn_weight_bytes(int64_t d, int64_t f) {
    return (size_t)fp8_ffn_floats(3 * d * f) * sizeof(float);
}
static inline size_t fp8_ffn_rows_bytes(int64_t rows, int64_t d, int64_t f, int threads) {
    const size_t first = gemm_product_scratch(rows, 2 * f, d, threads),
                 second = gemm_product_scratch(rows, d, f, threads);
    const size_t values = (size_t)(2 * fp8_ffn_floats(rows * d) + ffn_both_floats(rows, f)) * sizeof(float);
    return (values + (first > second ? first : second) + 63) / 64 * 64;
}

/* ---- optimized ---- */

/* Rows of a thread's block; hidden values of a row that are made at a time, which share a scale; columns of a panel, at most. */
enum { FP8_FFN_ROWS = 140, FP8_FFN_CHUNK = 128, FP8_FFN_PANEL = 32 };

/* Floats between rows, which do not share a set of L1. */
static inline int64_t fp8_ffn_line(int64_t n) { return n % 256 ? fp8_ffn_floats(n) : n + 16; }
enum { FP8_FFN_BOTH_LINE = 2 * FP8_FFN_CHUNK + 16 };

/* Of the panels of `columns` columns, k deep. */
static inline int64_t fp8_ffn_panels(int64_t columns, int64_t k) {
    return fp8_ffn_floats((columns + FP8_FFN_PANEL - 1) / FP8_FFN_PANEL * FP8_FFN_PANEL * k + GEMM_PRODUCT_PAD);
}
static inline int64_t fp8_ffn_all_panels(int64_t d, int64_t f) {
    return 2 * fp8_ffn_panels(f, d) + fp8_ffn_panels(d, f);
}
/* Of a thread: x, gate and up values, y; before, rows of a panel are at the same place. */
static inline int64_t fp8_ffn_thread_floats(int64_t d, int64_t f) {
    const int64_t block = FP8_FFN_ROWS * (fp8_ffn_line(d) + FP8_FFN_BOTH_LINE + d), deep = fp8_ffn_line(d > f ? d : f);
    return fp8_ffn_floats(block > FP8_FFN_PANEL * deep ? block : FP8_FFN_PANEL * deep);
}

#endif
