/* Private to linear_softmax: Triton's kernels, all in one, or the product and then its softmax. */
#ifndef RIDGE_TARGET_LINEAR_SOFTMAX_TRITON_H
#define RIDGE_TARGET_LINEAR_SOFTMAX_TRITON_H

#include "peer/triton.h"

TRITON_DECLARE(linear_softmax_triton);
TRITON_DECLARE(linear_softmax_triton_unfused);
size_t linear_softmax_triton_scratch(const ridge_case *c, int threads);

#endif
