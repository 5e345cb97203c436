/* The scratch of the CPU variants, which target.c plans and cpu.c uses. */
#ifndef RIDGE_FP8_FFN_CPU_H
#define RIDGE_FP8_FFN_CPU_H

#include "cpu/ffn_rows.h"
#include "fp8_ffn.h"

/* Whole lines of 64 bytes. */
static inline int64_t fp8_ffn_floats(int64_t n) { return (n + 15) / 16 * 16; }

/* ---- baseline: decoded weights, then x and y, gate and up values, and that of products ---- */

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

/* Sums of y have room of their own where y is narrower than fp32. */
static inline size_t fp8_ffn_panels_bytes(const int64_t *dim, bool wide, int threads) {
    const int64_t m = dim[FP8_FFN_M], d = dim[FP8_FFN_D], f = dim[FP8_FFN_F];
    return (size_t)(ffn_panels_floats(m, d, f, FFN_COLUMNS, threads) + (wide ? 0 : m * d)) * sizeof(float);
}

#endif
