/* Private to linear_cross_entropy_backward. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_BACKWARD_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_BACKWARD_H

#include "model/cross_entropy.h"

RIDGE_CPU_DECLARE(linear_cross_entropy_backward_cpu_baseline);
RIDGE_CPU_DECLARE(linear_cross_entropy_backward_cpu_fused);
RIDGE_CPU_DECLARE(linear_cross_entropy_backward_cpu_chunks);
RIDGE_CPU_DECLARE(linear_cross_entropy_backward_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_cross_entropy_backward_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_cross_entropy_backward_cuda_unfused);
RIDGE_CUDA_DECLARE(linear_cross_entropy_backward_cuda_optimized);

/* Places of its tensors. */
static const ce_places linear_cross_entropy_backward_places = {
    .lse_in = 4, .dloss = 5, .loss = -1, .lse = -1, .dx = 0, .dw = 1, .db = 2, .products = 3};

#endif
