/* The shapes that the kernels of few classes take. C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_LIMITS_H
#define RIDGE_KERNELS_CUDA_SKINNY_LIMITS_H

#include <stdint.h>

enum { LINEAR_NARROW = 128, LINEAR_SHALLOW = 16 }; /* classes at most, depth at least, that fused kernels take */

/* The kernels that end with whole rows of logits. */
static inline int linear_rows_fit(int64_t depth, int64_t classes) {
    return classes <= LINEAR_NARROW && depth >= LINEAR_SHALLOW;
}
/* Rows of x and w that bulk copies can move. */
static inline int linear_depth_is_bulk(int64_t depth) { return depth % 16 == 0; }
/* On Hopper, of those that bulk copies serve: by products of fp16, else of tf32. */
static inline int linear_rows_are_fp16(int64_t batch, int64_t classes) {
    return classes > 56 || (classes > 16 && batch > 256);
}

#endif
