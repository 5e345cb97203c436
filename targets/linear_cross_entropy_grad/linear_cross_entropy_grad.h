/* Private to linear_cross_entropy_grad. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_GRAD_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_GRAD_H

#include "model/cross_entropy.h"

RIDGE_CPU_DECLARE(linear_cross_entropy_grad_cpu_baseline);
RIDGE_CPU_DECLARE(linear_cross_entropy_grad_cpu_fused);
RIDGE_CPU_DECLARE(linear_cross_entropy_grad_cpu_chunks);
RIDGE_CPU_DECLARE(linear_cross_entropy_grad_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_cross_entropy_grad_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_cross_entropy_grad_cuda_unfused);
RIDGE_CUDA_DECLARE(linear_cross_entropy_grad_cuda_optimized);

/* Places of its tensors. */
static const ce_places linear_cross_entropy_grad_places = {
    .lse_in = -1, .dloss = 4, .loss = 0, .lse = 1, .dx = 2, .dw = 3, .db = 4, .products = 3};

#endif
