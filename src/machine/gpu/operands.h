/* Operands for tensor-core loops: random signs and significands, so that multipliers toggle as with real data, and a
 * predictable result.
 *
 * There are two matrices A and A' = -A + P. Each row of P has one +s and one -s (in units of the last place); the two
 * rows of B at these places differ by e = ±1. A step adds A·B and then A'·B, which adds s·e to every accumulator. n
 * steps leave exactly n·s·e, while the partial sums in between are as large and as random as a matrix product's. */
#ifndef RIDGE_MACHINE_GPU_OPERANDS_H
#define RIDGE_MACHINE_GPU_OPERANDS_H

#include <stdint.h>

typedef enum ridge_gpu_operand {
    RIDGE_GPU_F16,
    RIDGE_GPU_BF16,
    RIDGE_GPU_TF32,
    RIDGE_GPU_E4M3,
    RIDGE_GPU_S8,
    RIDGE_GPU_OPERANDS
} ridge_gpu_operand;

/* Both matrices are K-major. A row holds 128 bytes along K, four slices of 32. An instruction takes one slice. P is
 * nonzero in the first slice only. */
enum { RIDGE_GPU_ROWS = 128, RIDGE_GPU_COLUMNS = 256, RIDGE_GPU_K_BYTES = 128, RIDGE_GPU_SLICE = 32 };

typedef struct ridge_gpu_operands {
    uint8_t a[2][RIDGE_GPU_ROWS][RIDGE_GPU_K_BYTES]; /* A and A' */
    uint8_t b[RIDGE_GPU_COLUMNS][RIDGE_GPU_K_BYTES];
    int8_t row_sign[RIDGE_GPU_ROWS];       /* s */
    int8_t column_sign[RIDGE_GPU_COLUMNS]; /* e */
} ridge_gpu_operands;

void ridge_gpu_operands_make(ridge_gpu_operand kind, ridge_gpu_operands *operands);

int ridge_gpu_operand_bytes(ridge_gpu_operand kind);   /* of one element */
double ridge_gpu_operand_unit(ridge_gpu_operand kind); /* |s·e|: a step adds or subtracts it */
/* Value of the element at `bytes`, for tests. */
double ridge_gpu_operand_value(ridge_gpu_operand kind, const uint8_t *bytes);

#endif
