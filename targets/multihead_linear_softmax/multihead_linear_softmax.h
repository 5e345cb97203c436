/* Private to multihead_linear_softmax. */
#ifndef RIDGE_TARGET_MULTIHEAD_LINEAR_SOFTMAX_H
#define RIDGE_TARGET_MULTIHEAD_LINEAR_SOFTMAX_H

#include "ridge/target.h"

RIDGE_CPU_DECLARE(multihead_linear_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(multihead_linear_softmax_cpu_optimized);
RIDGE_CUDA_DECLARE(multihead_linear_softmax_cuda_baseline);
RIDGE_CUDA_DECLARE(multihead_linear_softmax_cuda_launches);
RIDGE_CUDA_DECLARE(multihead_linear_softmax_cuda_optimized);

enum { HEADS_BATCH, HEADS_HEADS, HEADS_DEPTH, HEADS_CLASSES }; /* places in dim[] */
enum { HEADS_X, HEADS_W, HEADS_B };                            /* places in in[] */

/* Stride of dimension d, in elements. */
static inline int64_t heads_stride(const DLTensor *t, int d) {
    if (t->strides) return t->strides[d];
    int64_t stride = 1;
    for (int i = d + 1; i < t->ndim; i++) stride *= t->shape[i];
    return stride;
}

#endif
