/* Private to linear_softmax. */
#ifndef RIDGE_TARGET_LINEAR_SOFTMAX_H
#define RIDGE_TARGET_LINEAR_SOFTMAX_H

#include "cpu/linear_softmax.h"

RIDGE_CPU_DECLARE(linear_softmax_cpu_onednn);
RIDGE_CPU_DECLARE(linear_softmax_cpu_openblas);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_baseline);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_unfused);
RIDGE_CUDA_DECLARE(linear_softmax_cuda_optimized);

/* By tensor cores that are fed by bulk copies; RIDGE_UNSUPPORTED, and nothing but scratch written, where they do not
 * take the call. */
RIDGE_CUDA_DECLARE(linear_softmax_cuda_tiles);
/* 16-bit operands: logits in fp32 through scratch. */
RIDGE_CUDA_DECLARE(linear_softmax_cuda_logits);

/* GPU: fp32 products of so many FLOP are worth splitting their operands. */
#define LINEAR_CUDA_LARGE 4294967296.0
static inline int linear_softmax_is_large(int64_t batch, int64_t depth, int64_t classes) {
    return 2.0 * (double)batch * (double)depth * (double)classes >= LINEAR_CUDA_LARGE;
}
/* GPU: what the fused kernels for few classes take; with more classes, or less depth, logits go through memory. */
enum { LINEAR_CUDA_CLASSES = 128, LINEAR_CUDA_DEPTH = 16 };

#endif
