/* What the ways of softmax(x w + b) keep in scratch. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SCRATCH_H
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SCRATCH_H

#include <string.h>

#include "cuda/host/scratch.h"
#include "cuda/linear/softmax_ways.h"
#include "cuda/skinny/thin.h"

/* Offsets; multiples of 1024. */
typedef struct linear_softmax_scratch {
    size_t parts;          /* softmax_part[heads * tiles of classes][rows] */
    size_t arrived;        /* unsigned[heads][groups of 64 rows] */
    size_t x, w;           /* operands in parts of fp16, or copied */
    size_t x_undo, w_undo; /* float: what undoes their scales */
    size_t bytes;
} linear_softmax_scratch;

/* Depth in whole slices of 64; classes in whole tiles of 128. */
static inline int64_t linear_softmax_padded(int64_t depth) { return (depth + 63) / 64 * 64; }
static inline int64_t linear_softmax_wide(int64_t classes) { return (classes + 127) / 128 * 128; }

/* LINEAR_TILES_HEADS: columns of the tile that so many classes get. */
static inline int64_t linear_heads_tile(int64_t classes) {
    return classes <= LINEAR_TILE_NARROW   ? LINEAR_TILE_NARROW
           : classes <= LINEAR_TILE_MIDDLE ? LINEAR_TILE_MIDDLE
                                           : LINEAR_TILE_WIDE;
}
/* w of several heads side by side, [depth][heads][wide]: each head's classes are filled up to whole tiles. */
static inline int64_t linear_heads_wide(int64_t classes) {
    const int64_t unit = linear_heads_tile(classes);
    return (classes + unit - 1) / unit * unit;
}

static inline linear_softmax_scratch linear_softmax_scratch_of(int way, int64_t rows, int64_t depth, int64_t classes,
                                                               int64_t heads, ridge_dtype dtype) {
    linear_softmax_scratch s;
    memset(&s, 0, sizeof s);
    const int64_t whole = (depth + 15) / 16 * 16;
    const double padded = (double)linear_softmax_padded(depth), all = (double)(heads * linear_softmax_wide(classes));
    const bool split = way == LINEAR_TILES_SPLIT, packed = way == LINEAR_TILES_HEADS;
    const bool tiles = split || packed || way == LINEAR_TILES_16;
    if (way == LINEAR_THIN) {
        s.w = linear_scratch_take(
            &s.bytes, thin_bytes_most(heads * classes, depth, (int)ridge_dtype_size(dtype), dtype == RIDGE_F32));
        return s;
    }
    if (packed && ridge_dtype_size(dtype) != 2) return s;
    if (classes > LINEAR_TILES_CLASSES && tiles) return s;
    const double copied_x = packed ? 2.0 * (double)rows * (double)whole : 0;
    const double copied_w = packed ? 2.0 * (double)depth * (double)(heads * linear_heads_wide(classes)) : 0;
    if (copied_x + copied_w > (double)LINEAR_COPIES_MOST) return s;
    s.parts = linear_scratch_take(&s.bytes, tiles ? (double)rows * 8 * all / 128 : 0);
    s.arrived = linear_scratch_take(&s.bytes, tiles ? (double)heads * 4 * ((double)rows / 64 + 4) : 0);
    s.x = linear_scratch_take(&s.bytes, split ? (double)rows * padded * 4 : copied_x);
    s.w = linear_scratch_take(&s.bytes, split ? all * padded * 4 : copied_w);
    s.x_undo = linear_scratch_take(&s.bytes, split ? (double)rows * 4 : 0);
    s.w_undo = linear_scratch_take(&s.bytes, split ? all * 4 : 0);
    return s;
}

/* Of LINEAR_COPIED: x and w, and behind them the scratch of the way that takes the copies. */
typedef struct linear_copies {
    size_t x, w, bytes;
    int64_t w_stride; /* of w where its lines are across the depth: as skinny/narrow.cuh and TMA want them */
} linear_copies;
static inline linear_copies linear_copies_of(int64_t rows, int64_t depth, int64_t classes, int64_t heads, int bytes) {
    linear_copies c;
    memset(&c, 0, sizeof c);
    const int64_t padded = (depth + 15) / 16 * 16, wide = (classes + 15) / 16 * 16;
    /* never 1, which would be lines along the depth */
    c.w_stride = bytes == 4 && classes > 1 && classes <= SKINNY_CLASSES ? classes : wide;
    c.x = linear_scratch_take(&c.bytes, (double)rows * (double)padded * bytes);
    c.w = linear_scratch_take(&c.bytes, (double)heads * (double)padded * (double)wide * bytes);
    return c;
}

#endif
