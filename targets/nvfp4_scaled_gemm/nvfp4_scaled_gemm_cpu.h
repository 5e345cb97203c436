/* The scratch of the CPU variants, which target.c plans and cpu.c uses. */
#ifndef NVFP4_SCALED_GEMM_CPU_H
#define NVFP4_SCALED_GEMM_CPU_H

#include "cpu/gemm_product.h"

/* Rows of B that a CPU thread has as fp32 at a time, in panels: 512 KiB of them, whole panels of every instruction set. */
enum { SCALED_PANEL = 32, SCALED_FEW = 8 }; /* so few rows of A are multiplied with rows of B, not with panels */
static inline int64_t scaled_rows(int64_t k) {
    const int64_t rows = (1 << 17) / (k > 0 ? k : 1) / SCALED_PANEL * SCALED_PANEL;
    return rows > 256 ? 256 : rows < SCALED_PANEL ? SCALED_PANEL : rows;
}
/* Floats between rows as fp32, which do not share a set of L1. */
static inline int64_t scaled_line(int64_t k) { return k % 256 ? k : k + 16; }
static inline int64_t scaled_floats(int64_t n) { return (n + 15) / 16 * 16; }
/* Of a thread: panels, then rows of one of them, then the scratch of a product of few rows. */
static inline int64_t scaled_panel_floats(int64_t k) { return scaled_rows(k) * k + GEMM_PRODUCT_PAD; }
static inline size_t scaled_thread_bytes(int64_t k) {
    const size_t values = (size_t)(scaled_panel_floats(k) + SCALED_PANEL * scaled_line(k)) * sizeof(float);
    return (values + gemm_product_scratch(SCALED_FEW, SCALED_PANEL, k, 1) + 63) / 64 * 64;
}

#endif
