/* Private to linear_softmax. */
#ifndef RIDGE_TARGET_LINEAR_SOFTMAX_H
#define RIDGE_TARGET_LINEAR_SOFTMAX_H

#include "cpu/linear_softmax.h"

RIDGE_CPU_DECLARE(linear_softmax_cpu_onednn);
RIDGE_CPU_DECLARE(linear_softmax_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_unfused);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_optimized);

/* Tensor cores with operands loaded by TMA. Returns RIDGE_UNSUPPORTED, with only scratch written, for calls that they
 * do not cover. */
RIDGE_CUDA_DECLARE(linear_softmax_cuda_tiles);
/* 16-bit operands: logits in fp32 through scratch. */
RIDGE_CUDA_DECLARE(linear_softmax_cuda_logits);

/* GPU: least FLOP of an fp32 product for which splitting its operands into hi and lo parts pays. */
#define LINEAR_CUDA_LARGE 4294967296.0
static inline int linear_softmax_is_large(int64_t batch, int64_t depth, int64_t classes) {
    return 2.0 * (double)batch * (double)depth * (double)classes >= LINEAR_CUDA_LARGE;
}
/* GPU: limits of the fused kernels for few classes; with more classes, or less depth, logits go through memory. */
enum { LINEAR_CUDA_CLASSES = 128, LINEAR_CUDA_DEPTH = 16 };

#endif
