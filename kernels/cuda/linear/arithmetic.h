/* The arithmetic of the fp32 linear kernels, by shape: both the choice of a kernel and its description follow from it.
 * Operands of cases are dense and aligned; the launchers also look at the operands themselves. C and CUDA.
 *
 * A product of fp32 values is three products on the tensor cores: of tf32 (skinny/narrow.cuh) or of fp16
 * (skinny/wgmma.cuh, skinny/stream.cuh, linear/loss_split.cuh, linear/softmax_tiles.cuh). All others are fp32
 * multiply-adds. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ARITHMETIC_H
#define RIDGE_KERNELS_CUDA_LINEAR_ARITHMETIC_H

#include "cuda/linear/loss_scratch.h"
#include "cuda/skinny/limits.h"

enum { LINEAR_TILES_CLASSES = 64 * 128 }; /* classes at most that linear/softmax_tiles.cuh takes */

static inline ridge_arithmetic linear_three_of(ridge_dtype type) {
    ridge_arithmetic a;
    a.type = type;
    a.products = type == RIDGE_DTYPE_NONE ? 0 : 3;
    return a;
}

static inline int linear_is_hopper(int sm) { return sm / 10 == 9; }

/* softmax(x w + b) by linear/softmax.cuh. */
static inline ridge_arithmetic linear_rows_arithmetic(int64_t batch, int64_t depth, int64_t classes, int sm) {
    if (!linear_rows_fit(depth, classes)) return linear_three_of(RIDGE_DTYPE_NONE);
    return linear_three_of(linear_is_hopper(sm) && linear_depth_is_bulk(depth) && linear_rows_are_fp16(batch, classes)
                               ? RIDGE_F16
                               : RIDGE_TF32);
}

/* Shapes that linear/softmax_tiles.cuh takes in fp32. */
static inline int linear_tiles_fit(int64_t batch, int64_t depth, int64_t classes) {
    return batch > 0 && depth % 4 == 0 && classes <= LINEAR_TILES_CLASSES;
}

/* The cross-entropy targets in fp32. Gradients of few classes mix products of fp16 for the logits with multiply-adds.
 */
static inline ridge_arithmetic linear_loss_arithmetic(const ridge_case *c, int sm, bool gradients) {
    const int64_t batch = c->dim[0], depth = c->dim[1], classes = c->dim[2];
    if (ridge_dtype_size(c->dtype) != 4 || !linear_is_hopper(sm)) return linear_three_of(RIDGE_DTYPE_NONE);
    if (linear_rows_fit(depth, classes) && linear_depth_is_bulk(depth))
        return gradients ? linear_three_of(RIDGE_DTYPE_NONE) : linear_rows_arithmetic(batch, depth, classes, sm);
    const bool whole = depth % 4 == 0 && (!gradients || classes % 4 == 0);
    const bool split = linear_loss_scratch_of(batch, depth, classes, c->dtype, gradients).split;
    return linear_three_of(split && whole ? RIDGE_F16 : RIDGE_DTYPE_NONE);
}

#endif
