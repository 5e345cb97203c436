/* What the files of this target know of its operands, and the plan of its products on a GPU. */
#ifndef SWIGLU_FFN_BACKWARD_H
#define SWIGLU_FFN_BACKWARD_H

#include "linear/product.h"

RIDGE_CPU_DECLARE(swiglu_ffn_backward_cpu_baseline);
RIDGE_CPU_DECLARE(swiglu_ffn_backward_cpu_optimized);
RIDGE_CUDA_DECLARE(swiglu_ffn_backward_cuda);

enum { BACK_M, BACK_D, BACK_F, BACK_BOTH, BACK_DIMS }; /* dims: rows, width, hidden width, and twice that */
enum { BACK_X, BACK_W1, BACK_W2, BACK_GATES, BACK_DY, BACK_INPUTS };
enum { BACK_DX, BACK_DW1, BACK_DW2, BACK_OUTPUTS };

/* Elements of a line in scratch: whole pieces of 16 bytes. */
static inline int64_t back_line(int64_t columns) { return (columns + 7) / 8 * 8; }
/* Rows that a CPU takes at a time: their dgate, dup and hidden values, 4 MiB of them, stay in L3. */
static inline int64_t back_rows(const int64_t *dim) {
    const int64_t rows = (1 << 20) / (3 * (dim[BACK_F] > 0 ? dim[BACK_F] : 1)) / 256 * 256;
    const int64_t some = rows < 256 ? 256 : rows;
    return some < dim[BACK_M] ? some : dim[BACK_M];
}

/* dh = dy w2, then dx = [dgate dup] w1, dw1 = [dgate dup]^T x and dw2 = dy^T h. */
enum { BACK_TO_DH, BACK_TO_DX, BACK_TO_DW1, BACK_TO_DW2, BACK_PRODUCTS };

/* Of C and CUDA: plan and launches read the same. Where there are no rows, there are no products. */
typedef struct back_plan {
    int64_t m, d, f;
    int64_t hidden_line, both_line; /* elements from one row to the next */
    size_t hidden, both, product;   /* offsets in scratch: dh, and h in its place; dgate beside dup; gemm's own */
    linear_product of[BACK_PRODUCTS];
    ridge_plan plan;
} back_plan;

/* passes: over hidden values, three or one. */
back_plan back_plan_of(const ridge_problem *p, int passes);
/* Of ways whose number is that of the passes. */
ridge_plan back_way_plan(const ridge_way *way, const ridge_problem *p);

#endif
