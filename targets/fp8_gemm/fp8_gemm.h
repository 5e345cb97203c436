/* What target.c, cpu.c and cuda.cu know of the operands of fp8_gemm. */
#ifndef RIDGE_FP8_GEMM_H
#define RIDGE_FP8_GEMM_H

#include "ridge/target.h"

enum { FP8_M, FP8_N, FP8_K, FP8_A_DOWN, FP8_B_DOWN, FP8_ACROSS }; /* dims */
enum { FP8_A, FP8_A_SCALE, FP8_B, FP8_B_SCALE };                  /* inputs */
enum { FP8_FAST_SUMS };                                           /* options */
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

#endif
