/* The scratch of kernels/cpu/ffn.h, which target.c plans and cpu*.c uses. */
#ifndef RIDGE_KERNELS_CPU_FFN_ROWS_H
#define RIDGE_KERNELS_CPU_FFN_ROWS_H

#include "cpu/gemm_product.h"

/* Rows of a thread's block, whose gate and up values stay in cache: 512 KiB of them. */
static inline int64_t ffn_rows(int64_t f) {
    const int64_t rows = (1 << 17) / (2 * (f > 0 ? f : 1));
    return rows > 144 ? 144 : rows < 16 ? 16 : rows;
}
/* Floats of gate and up values of some rows, whole lines of 64 bytes. */
static inline int64_t ffn_both_floats(int64_t rows, int64_t f) { return (2 * rows * f + 15) / 16 * 16; }

/* Scratch of a thread. */
static inline size_t ffn_thread_bytes(int64_t d, int64_t f) {
    const int64_t rows = ffn_rows(f);
    const size_t first = gemm_product_scratch(rows, 2 * f, d, 1), second = gemm_product_scratch(rows, d, f, 1);
    const size_t both = (size_t)ffn_both_floats(rows, f) * sizeof(float);
    return (both + (first > second ? first : second) + 63) / 64 * 64;
}

#endif
