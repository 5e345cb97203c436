/* What the files of this target share. */
#ifndef LINEAR_NORM_ACTIVATION_H
#define LINEAR_NORM_ACTIVATION_H

#include "gemm/norm.h"

RIDGE_CPU_DECLARE(linear_norm_activation_cpu_baseline);
RIDGE_CPU_DECLARE(linear_norm_activation_cpu_optimized);
RIDGE_CUDA_DECLARE(linear_norm_activation_cuda_baseline);

/* Rows of a block, whose results are in the last cache for their norms: 16 MiB of them. W is packed for each block, and 256 rows
 * are the fewest for that. */
static inline int64_t linear_norm_rows(int64_t n) {
    const int64_t rows = (1 << 22) / (n > 0 ? n : 1);
    return rows < 256 ? 256 : rows;
}

#endif
