/* The scratch of kernels/cpu/ffn.h and ffn_panels.h, which target.c plans and cpu*.c uses. */
#ifndef RIDGE_KERNELS_CPU_FFN_ROWS_H
#define RIDGE_KERNELS_CPU_FFN_ROWS_H

#include "cpu/gemm_product.h"

/* ---- ffn.h: few rows ---- */

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

/* ---- ffn_panels.h ---- */

/* Columns of weights and of gate values at a time, hidden values of a chunk and columns of a panel at most, rows of a thread's
 * block: its hidden values and 512 columns of x are 600 KiB. Lines do not share a set of L1. */
enum {
    FFN_COLUMNS = 128,
    FFN_CHUNK_MOST = 512,
    FFN_PANEL = 32,
    FFN_BLOCK_ROWS = 140,
    FFN_COLUMNS_LINE = FFN_COLUMNS + 16,
    FFN_HIDDEN_LINE = FFN_CHUNK_MOST + 16
};

/* Floats between rows of n floats, whole lines of 64 bytes. */
static inline int64_t ffn_line_floats(int64_t n) { return n % 256 ? (n + 15) / 16 * 16 : n + 16; }

static inline int64_t ffn_panels_columns(int64_t n) { return (n + FFN_PANEL - 1) / FFN_PANEL * FFN_PANEL; }
/* Panels of a chunk of n hidden values. */
static inline int64_t ffn_weights_floats(int64_t d, int64_t n) {
    return (2 * ffn_panels_columns(n) * d + ffn_panels_columns(d) * n + GEMM_PRODUCT_PAD + 15) / 16 * 16;
}

/* How threads share hidden values. own: those that each has alone, whole groups. They cost a set of sums of all rows
 * for each thread, but less than the weights that threads would share without. chunk: at most. places: of panels. */
typedef struct ffn_plan {
    int64_t own, chunk, places;
} ffn_plan;
/* group: hidden values of a row that are quantized together, else FFN_PANEL. */
static inline ffn_plan ffn_plan_of(int64_t m, int64_t f, int64_t group, int threads) {
    const bool few = threads > 1 && threads * m < 3 * f;
    const int64_t own = few ? f / (group * threads) * group : 0, most = own > 0 ? own : f;
    return (ffn_plan){own, most < FFN_CHUNK_MOST ? most : FFN_CHUNK_MOST, own > 0 ? threads : threads > 1 ? 2 : 1};
}

/* x, gate and hidden values of a block; before, rows of a panel are at the same place. */
static inline int64_t ffn_thread_floats(int64_t d) {
    return FFN_BLOCK_ROWS * (ffn_line_floats(d) + FFN_COLUMNS_LINE + FFN_HIDDEN_LINE);
}
static inline int64_t ffn_panels_floats(int64_t m, int64_t d, int64_t f, int64_t group, int threads) {
    const ffn_plan plan = ffn_plan_of(m, f, group, threads);
    const int64_t sums = plan.own > 0 ? (threads - 1) * m * d : 0;
    return (plan.places * ffn_weights_floats(d, plan.chunk) + threads * ffn_thread_floats(d) + sums + 15) / 16 * 16;
}

/* ---- ffn_dense.h: either ---- */

static inline size_t ffn_dense_bytes(int64_t m, int64_t d, int64_t f, int threads) {
    const size_t blocks = (size_t)threads * ffn_thread_bytes(d, f),
                 panels = (size_t)ffn_panels_floats(m, d, f, FFN_PANEL, threads) * sizeof(float);
    return blocks > panels ? blocks : panels;
}

#endif
