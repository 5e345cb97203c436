/* Scales of e4m3 operands, one for all, for each row or for each 128 rows, and for each 128 of K. Of C and CUDA. */
#ifndef RIDGE_GEMM_FP8_H
#define RIDGE_GEMM_FP8_H

#include "ridge/target.h"

enum { FP8_BLOCK = 128 };

/* Where the scale of a row of A (of B) and of a slice of 128 of K lies: element (row / rows) line + slice step. */
typedef struct fp8_scales {
    const float *data;
    int64_t rows, line, step;
} fp8_scales;

/* extent: M or N. One scale for all, one for each row, or one for each 128 rows. */
static inline fp8_scales fp8_scales_of(const DLTensor *t, int64_t extent) {
    const int64_t down = t->shape[0], across = t->shape[1];
    fp8_scales s = {(const float *)ridge_data(t), 1, ridge_row_stride(t), across > 1};
    if (down != extent) s.rows = FP8_BLOCK;
    if (down == 1) s.rows = extent > 0 ? extent : 1, s.line = 0;
    return s;
}

/* Whether the scales of so many lines are where tiles find them, which count in 32 bits. */
static inline bool fp8_scales_are_near(const ridge_operand *t, int64_t lines) {
    return (double)lines * (double)t->stride[0] < 0x1p31;
}

static inline int64_t fp8_blocks(int64_t n) { return (n + FP8_BLOCK - 1) / FP8_BLOCK; }

#endif
