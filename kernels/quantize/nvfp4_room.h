/* What a CPU thread needs for nvfp4_panels.h, which targets plan. */
#ifndef RIDGE_KERNELS_QUANTIZE_NVFP4_ROOM_H
#define RIDGE_KERNELS_QUANTIZE_NVFP4_ROOM_H

#include "cpu/gemm_product.h"

/* Rows of W as fp32 at a time, in panels: 512 KiB of them, whole panels of every instruction set. */
enum { NVFP4_PANEL = 32, NVFP4_FEW = 32 }; /* so few rows of A are multiplied with rows of W, not with panels */
static inline int64_t nvfp4_block_rows(int64_t k) {
    const int64_t rows = (1 << 17) / (k > 0 ? k : 1) / NVFP4_PANEL * NVFP4_PANEL;
    return rows > 256 ? 256 : rows < NVFP4_PANEL ? NVFP4_PANEL : rows;
}
/* Floats between rows as fp32, which do not share a set of L1. */
static inline int64_t nvfp4_line(int64_t k) { return k % 256 ? k : k + 16; }
/* Of a thread: panels, then rows of one of them, then the scratch of a product of few rows. */
static inline int64_t nvfp4_panel_floats(int64_t k) { return nvfp4_block_rows(k) * k + GEMM_PRODUCT_PAD; }
static inline size_t nvfp4_room_bytes(int64_t k) {
    const size_t values = (size_t)(nvfp4_panel_floats(k) + NVFP4_PANEL * nvfp4_line(k)) * sizeof(float);
    return (values + gemm_product_scratch(NVFP4_FEW, NVFP4_PANEL, k, 1) + 63) / 64 * 64;
}

#endif
