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
static inline size_t fp8_ffn_thread_bytes(int64_t d, int64_t f) { return fp8_ffn_rows_bytes(ffn_rows(f), d, f, 1); }

#endif
