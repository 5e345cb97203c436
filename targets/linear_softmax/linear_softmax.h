/* Private to linear_softmax. */
#ifndef RIDGE_TARGET_LINEAR_SOFTMAX_H
#define RIDGE_TARGET_LINEAR_SOFTMAX_H

#include "ridge/target.h"

RIDGE_CPU_DECLARE(linear_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(linear_softmax_cpu_optimized);
RIDGE_CPU_DECLARE(linear_softmax_cpu_onednn);
RIDGE_CPU_DECLARE(linear_softmax_cpu_openblas);

enum { LINEAR_BATCH, LINEAR_DEPTH, LINEAR_CLASSES }; /* places in dim[] */
enum { LINEAR_X, LINEAR_W, LINEAR_B };               /* places in in[] */

/* How the optimized variant cuts its work; limits over all instruction sets, which size its scratch. */
#define LINEAR_NR 32               /* rows of a strip */
#define LINEAR_MR_LEAST 4          /* most classes of a group, in the smallest instruction set */
#define LINEAR_MR_MOST 14          /* and in the largest */
#define LINEAR_KC 1024
#define LINEAR_STRIPS 8            /* strips of a block, at most */
#define LINEAR_LOGITS 1
#define LINEAR_PAD 64

static inline int64_t linear_strips(int64_t classes) {
    int64_t fit = LINEAR_LOGITS / (classes * LINEAR_NR);
    return fit < 1 ? 1 : fit > LINEAR_STRIPS ? LINEAR_STRIPS : fit;
}

/* A thread's transposed slices and logits. */
static inline int64_t linear_thread_floats(int64_t classes) {
    return linear_strips(classes) * LINEAR_NR * (LINEAR_KC + classes) + LINEAR_PAD;
}

#endif
