/* p[i,:] = softmax(x[i,:] w + b) on a CPU: x [batch, depth], w [depth, classes], b [classes], f32. A call's dimensions
 * and tensors are in this order; multihead_linear_softmax calls it once for each head. */
#ifndef RIDGE_KERNELS_LINEAR_SOFTMAX_H
#define RIDGE_KERNELS_LINEAR_SOFTMAX_H

#include "ridge/target.h"

enum { LINEAR_BATCH, LINEAR_DEPTH, LINEAR_CLASSES }; /* places in dim[] */
enum { LINEAR_X, LINEAR_W, LINEAR_B };               /* places in in[] */

RIDGE_CPU_DECLARE(linear_softmax_cpu_baseline);
/* Ways of the optimized variant. */
RIDGE_CPU_DECLARE(linear_softmax_cpu_wide); /* linear_softmax_wide.h: RIDGE_UNSUPPORTED without AVX-512 */
RIDGE_CPU_DECLARE(linear_softmax_cpu_fused);
RIDGE_CPU_DECLARE(linear_softmax_cpu_product);

typedef enum linear_way { LINEAR_WAY_WIDE, LINEAR_WAY_FUSED, LINEAR_WAY_PRODUCT } linear_way; /* linear/cpu_ways.h */

/* Layout of w: the stride is between depth steps (row-major) or between classes (column-major). */
typedef struct linear_order {
    bool columns;
    int64_t stride;
} linear_order;
static inline linear_order linear_order_of(const DLTensor *w) {
    if (w->strides && w->strides[1] != 1) return (linear_order){true, w->strides[1]};
    const int64_t stride = ridge_row_stride(w);
    return (linear_order){false,
                          stride < w->shape[1] ? w->shape[1] : stride}; /* the stride of a single row is arbitrary */
}

/* Block sizes of the optimized variant: limits over all instruction sets, which determine its scratch. */
#define LINEAR_NR 32           /* rows per strip */
#define LINEAR_CLASSES_MOST 13 /* classes per group in the widest instruction set */
#define LINEAR_CLASSES_LEAST 3 /* and in the narrowest */
#define LINEAR_KC 512          /* depth per slice */
#define LINEAR_FEW 256         /* most classes for which one strip at a time is fastest */
#define LINEAR_STRIPS 8        /* most strips per block */
#define LINEAR_LOGITS 131072   /* logits per block, in floats: half of a 1 MiB L2 */
#define LINEAR_PAD 64
#define LINEAR_WIDE_REST 4         /* wide: most classes computed by dot products */
#define LINEAR_WIDE_W 160000       /* wide: most floats of w that stay in L2 beside the other operands */
#define LINEAR_PRODUCT_ALONE 16384 /* product: below this many logits one thread computes softmax */
#define LINEAR_ALONE 1e6 /* fused: below this many multiply-adds one thread finishes before another wakes up */

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
