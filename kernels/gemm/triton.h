/* C = A B by Triton's kernel in its usual form, for targets without options: tiles of 128 x 128, 64 x 64 or 32 x 32. */
#ifndef RIDGE_GEMM_TRITON_H
#define RIDGE_GEMM_TRITON_H

#include "peer/triton.h"

TRITON_DECLARE(matmul_triton);

/* The same with `name` for a kernel (matmul_tile; logits_tile: C in fp32), operands at any place, C times alpha. */
typedef struct triton_matrix {
    void *at;
    int64_t row; /* elements from one to the next */
} triton_matrix;
ridge_status triton_product(const char *name, ridge_dtype dtype, const triton_matrix matrix[3], const int64_t extent[3],
                            bool aligned, void *stream);

#endif
