/* Private to linear_softmax. */
#ifndef RIDGE_TARGET_LINEAR_SOFTMAX_H
#define RIDGE_TARGET_LINEAR_SOFTMAX_H

#include "cpu/linear_softmax.h"

RIDGE_CPU_DECLARE(linear_softmax_cpu_onednn);
RIDGE_CPU_DECLARE(linear_softmax_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_optimized); /* by call->way */

#endif
