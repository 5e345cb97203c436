/* p[i,:] = softmax(x[i,:] w + b) on a CPU: x [batch, depth], w [depth, classes], b [classes], f32. A call's dimensions
 * and tensors are in this order; multihead_linear_softmax calls it once for each head. */
#ifndef RIDGE_KERNELS_LINEAR_SOFTMAX_H
#define RIDGE_KERNELS_LINEAR_SOFTMAX_H

#include "ridge/target.h"

enum { LINEAR_BATCH, LINEAR_DEPTH, LINEAR_CLASSES }; /* places in dim[] */
enum { LINEAR_X, LINEAR_W, LINEAR_B };               /* places in in[] */

RIDGE_CPU_DECLARE(linear_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(linear_softmax_cpu_optimized);

/* w in memory: from one depth step to the next, or where it lies by columns from one class to the next. */
typedef struct linear_order {
    bool columns;
    int64_t stride;
} linear_order;
static inline linear_order linear_order_of(const DLTensor *w) {
    if (w->strides && w->strides[1] != 1) return (linear_order){true, w->strides[1]};
    const int64_t stride = ridge_row_stride(w);
    return (linear_order){false, stride < w->shape[1] ? w->shape[1] : stride}; /* of a single row it may say anything */
}

/* How the optimized variant cuts its work; limits over all instruction sets, which size its scratch. */
#define LINEAR_NR 32           /* rows of a strip */
#define LINEAR_CLASSES_MOST 13 /* classes of a group in the largest instruction set */
#define LINEAR_CLASSES_LEAST 3 /* and in the smallest */
#define LINEAR_KC 512          /* depth of a slice */
#define LINEAR_FEW 256         /* up to so many classes one strip at a time is best */
#define LINEAR_STRIPS 8        /* strips of a block, at most */
#define LINEAR_LOGITS 131072   /* logits of a block, in floats: half of a second-level cache */
#define LINEAR_PAD 64

static inline int64_t linear_strips(int64_t classes) {
    int64_t fit = LINEAR_LOGITS / (classes * LINEAR_NR);
    return classes <= LINEAR_FEW ? 1 : fit < 2 ? 2 : fit > LINEAR_STRIPS ? LINEAR_STRIPS : fit;
}

/* A thread's transposed slices and logits. */
static inline int64_t linear_thread_floats(int64_t classes) {
    int64_t strips = linear_strips(classes), slices = strips > 1 ? strips : 2;
    return LINEAR_NR * (slices * LINEAR_KC + strips * classes) + LINEAR_PAD;
}

/* Scratch of the optimized kernel. */
static inline size_t linear_scratch(int64_t depth, int64_t classes, int threads) {
    const size_t slack = ((size_t)classes / LINEAR_CLASSES_LEAST + 3) * LINEAR_PAD;
    return sizeof(float) *
           ((size_t)classes * (size_t)depth + slack + (size_t)threads * (size_t)linear_thread_floats(classes));
}

#endif
