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
    size_t x, w, bias;     /* operands in parts of fp16, transposed, or copied */
    size_t x_undo, w_undo; /* float: what undoes their scales */
    size_t infinite;       /* unsigned: whether a split operand has an infinity */
    size_t logits;         /* float[shares or heads][rows][logits_stride] */
    size_t bytes;
    int64_t logits_stride;
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
/* w of several heads side by side, [depth][heads][wide]: each head's classes are filled up to whole tiles, or, in
 * LINEAR_LOGITS_HEADS, so that its logits and all of a line begin at multiples of 16 bytes; in LINEAR_LOGITS_SPLIT and
 * LINEAR_LOGITS_HALF, to eight, which a block splits at a time. */
static inline bool linear_packs_heads(int way) { return way == LINEAR_TILES_HEADS || way == LINEAR_LOGITS_HEADS; }
static inline int64_t linear_heads_wide(int way, int64_t classes, int64_t heads) {
    const int64_t unit = way == LINEAR_TILES_HEADS                      ? linear_heads_tile(classes)
                         : way == LINEAR_LOGITS_HEADS && heads % 2 == 0 ? 4
                                                                        : 8;
    return (classes + unit - 1) / unit * unit;
}

/* Of LINEAR_LOGITS_HALF; the tiles of LINEAR_LOGITS_SPLIT cannot. columns: of all heads. */
static inline int linear_half_shares(int way, int64_t rows, int64_t depth, int64_t columns) {
    return way == LINEAR_LOGITS_HALF ? linear_softmax_shares(rows, depth, columns) : 1;
}

#define LINEAR_PARTS_MOST ((int64_t)1 << 30) /* bytes of split operands beside logits in memory */

static inline linear_softmax_scratch linear_softmax_scratch_of(int way, int64_t rows, int64_t depth, int64_t classes,
                                                               int64_t heads, ridge_dtype dtype) {
    linear_softmax_scratch s;
    memset(&s, 0, sizeof s);
    const bool beside = way == LINEAR_LOGITS_SPLIT || way == LINEAR_LOGITS_HALF, side_by_side = beside && heads > 1;
    const double padded = (double)linear_softmax_padded(depth);
    const double all =
        (double)(heads * (side_by_side ? linear_heads_wide(way, classes, heads) : linear_softmax_wide(classes)));
    const bool two = way == LINEAR_TILES_SPLIT || way == LINEAR_LOGITS_SPLIT;
    const bool one = way == LINEAR_TILES_HALF || way == LINEAR_LOGITS_HALF;
    const bool split = two || one, tf32 = way == LINEAR_TILES_TF32 || way == LINEAR_LOGITS_TF32;
    const double each = one ? 2 : 4; /* bytes of a split element */
    const bool packed = linear_packs_heads(way), heads_logits = way == LINEAR_LOGITS_HEADS;
    const bool tiles = way == LINEAR_TILES_SPLIT || way == LINEAR_TILES_HALF || way == LINEAR_TILES_TF32 ||
                       way == LINEAR_TILES_16 || way == LINEAR_TILES_HEADS;
    const bool shared = way == LINEAR_LOGITS_SHARED;
    const bool logits = ridge_dtype_size(dtype) == 2 &&
                        (way == LINEAR_LOGITS_16 || way == LINEAR_LOGITS_FFMA || shared || heads_logits);
    if (way == LINEAR_THIN) {
        s.w = linear_scratch_take(
            &s.bytes, thin_bytes_most(heads * classes, depth, (int)ridge_dtype_size(dtype), dtype == RIDGE_F32));
        return s;
    }
    if (packed && ridge_dtype_size(dtype) != 2) return s;
    if ((classes > LINEAR_TILES_CLASSES && tiles) || (classes > LINEAR_SHARED_CLASSES && shared)) return s;
    if (beside && each * padded * ((double)rows + all) > (double)LINEAR_PARTS_MOST) return s;
    const int64_t columns = heads * linear_heads_wide(way, classes, heads), whole = (depth + 15) / 16 * 16;
    const double copied_x = packed ? 2.0 * (double)rows * (double)whole : 0;
    const double copied_w = packed ? 2.0 * (double)depth * (double)columns : 0;
    if (copied_x + copied_w > (double)LINEAR_COPIES_MOST) return s;
    s.logits_stride = heads_logits ? columns : (classes + 3) / 4 * 4;
    const int half_shares = linear_half_shares(way, rows, depth, heads > 1 ? columns : classes);
    const bool elsewhere = side_by_side || (beside && half_shares > 1); /* not in the place of p */
    if (beside) s.logits_stride = side_by_side ? columns : elsewhere ? s.logits_stride : 0;
    const double matrices = beside ? half_shares
                            : shared || heads_logits
                                ? (double)linear_softmax_shares(rows, depth, heads_logits ? columns : classes)
                                : (double)heads;
    s.parts = linear_scratch_take(&s.bytes, tiles ? (double)rows * 8 * all / 128 : 0);
    s.arrived = linear_scratch_take(&s.bytes, tiles ? (double)heads * 4 * ((double)rows / 64 + 4) : 0);
    s.x = linear_scratch_take(&s.bytes, split ? (double)rows * padded * each : copied_x);
    s.w = linear_scratch_take(&s.bytes, split || tf32 ? all * padded * each : copied_w);
    s.bias = linear_scratch_take(&s.bytes, heads_logits   ? 2.0 * (double)columns
                                           : side_by_side ? 4.0 * (double)columns
                                                          : 0);
    s.x_undo = linear_scratch_take(&s.bytes, split ? (double)rows * 4 : 0);
    s.w_undo = linear_scratch_take(&s.bytes, split ? all * 4 : 0);
    s.infinite = linear_scratch_take(&s.bytes, split ? sizeof(unsigned) : 0);
    s.logits =
        linear_scratch_take(&s.bytes, logits || elsewhere ? matrices * (double)rows * (double)s.logits_stride * 4 : 0);
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
