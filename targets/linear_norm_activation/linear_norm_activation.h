/* What the files of this target share. */
#ifndef LINEAR_NORM_ACTIVATION_H
#define LINEAR_NORM_ACTIVATION_H

#include "gemm/norm.h"

RIDGE_CPU_DECLARE(linear_norm_activation_cpu_baseline);
RIDGE_CPU_DECLARE(linear_norm_activation_cpu_optimized);
RIDGE_CUDA_DECLARE(linear_norm_activation_cuda_baseline);

/* Rows of a thread's block, whose results stay in cache: 512 KiB of them. */
static inline int64_t linear_norm_rows(int64_t n) {
    const int64_t rows = (1 << 17) / (n > 0 ? n : 1);
    return rows > 144 ? 144 : rows < 16 ? 16 : rows;
}

#endif
