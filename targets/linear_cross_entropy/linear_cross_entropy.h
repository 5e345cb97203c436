/* Private to linear_cross_entropy. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_H

#include "model/cross_entropy.h"

RIDGE_CPU_DECLARE(linear_cross_entropy_cpu_baseline);
RIDGE_CPU_DECLARE(linear_cross_entropy_cpu_fused);
RIDGE_CPU_DECLARE(linear_cross_entropy_cpu_chunks);
RIDGE_CPU_DECLARE(linear_cross_entropy_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_cross_entropy_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_cross_entropy_cuda_unfused);
RIDGE_CUDA_DECLARE(linear_cross_entropy_cuda_optimized);

/* Places of its tensors. */
static const ce_places linear_cross_entropy_places = {
    .lse_in = -1, .dloss = -1, .loss = 0, .lse = 1, .dx = -1, .dw = -1, .db = -1, .products = 1};

#endif
