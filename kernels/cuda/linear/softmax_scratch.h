/* What Hopper's kernels for softmax(x w + b) keep in scratch, besides logits of 16-bit operands that other kernels
 * take. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SCRATCH_H
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SCRATCH_H

#include <string.h>

#include "cuda/host/scratch.h"
#include "ridge/target.h"

/* Offsets; multiples of 1024. */
typedef struct linear_softmax_scratch {
    size_t parts;          /* softmax_part[heads * tiles of classes][rows] */
    size_t arrived;        /* unsigned[heads][groups of 64 rows] */
    size_t x, w;           /* operands split in hi and lo parts or transposed */
    size_t x_undo, w_undo; /* float: what undoes their scales */
    size_t logits;         /* float[rows][logits_stride] */
    size_t bytes;
    int64_t logits_stride;
} linear_softmax_scratch;

/* Depth in whole slices of 64; classes in whole tiles of 128. */
static inline int64_t linear_softmax_padded(int64_t depth) { return (depth + 63) / 64 * 64; }
static inline int64_t linear_softmax_wide(int64_t classes) { return (classes + 127) / 128 * 128; }

static inline linear_softmax_scratch linear_softmax_scratch_of(int64_t rows, int64_t depth, int64_t classes,
                                                               int64_t heads, ridge_dtype dtype) {
    linear_softmax_scratch s;
    memset(&s, 0, sizeof s);
    const double padded = (double)linear_softmax_padded(depth), all = (double)(heads * linear_softmax_wide(classes));
    const int words = ridge_dtype_size(dtype) == 4;
    s.logits_stride = (classes + 3) / 4 * 4;
    s.parts = linear_scratch_take(&s.bytes, (double)rows * 8 * all / 128);
    s.arrived = linear_scratch_take(&s.bytes, (double)heads * 4 * ((double)rows / 64 + 4));
    s.x = linear_scratch_take(&s.bytes, words ? (double)rows * padded * 4 : 0);
    s.w = linear_scratch_take(&s.bytes, words ? all * padded * 4 : 0);
    s.x_undo = linear_scratch_take(&s.bytes, (double)rows * 4);
    s.w_undo = linear_scratch_take(&s.bytes, all * 4);
    s.logits = linear_scratch_take(&s.bytes, words ? 0 : (double)rows * (double)s.logits_stride * 4);
    return s;
}

#endif
