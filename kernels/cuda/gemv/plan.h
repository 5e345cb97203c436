/* How blocks share a product of few rows (gemv/product.cuh, gemv/tensor.cuh): plain arithmetic on its extents, of C and
 * CUDA.
 *
 * z[rows, outputs] = x[rows, depth] w[outputs, depth]^T. A block has tiles of the outputs, a group of up to 32 rows and
 * a share of the depth: x of that share is in its shared memory. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_PLAN_H
#define RIDGE_KERNELS_CUDA_GEMV_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda/epilogue/parts.h"
#include "cuda/host/scratch.h"
#include "ridge/tensor.h"

enum {
    GEMV_BATCH = 64,       /* rows at most */
    GEMV_MIB = 256,        /* of the sums of all shares, at most */
    GEMV_ROWS = 16,        /* of a group, at most, by multiply-adds */
    GEMV_TENSOR = 9,       /* rows from which on products are the tensor cores' */
    GEMV_TENSOR_16 = 5,    /* likewise, of 16 bits: multiply-adds have to widen w */
    GEMV_STEP = 64,        /* of the depth: shares are multiples of it */
    GEMV_SHARE = 128,      /* steps of the depth that are worth a share */
    GEMV_BLOCKS = 264,     /* that shares are made for, two for each of an H200's SMs: scratch depends on it */
    GEMV_TILE = 124,       /* outputs of the narrowest tile of multiply-adds */
    GEMV_TENSOR_TILE = 28, /* likewise, of the tensor cores in fp32, across the depth */
    GEMV_SUMMED = 1024     /* outputs of a block that adds shares */
};

/* What multiplies. */
typedef enum gemv_product {
    GEMV_FFMA,        /* fp32 multiply-adds */
    GEMV_MMA_16,      /* the tensor cores: x and w of 16 bits */
    GEMV_MMA_WIDENED, /* a w of 16 bits and an fp32 x as tf32 */
    GEMV_MMA_TF32,    /* fp32 as tf32 */
    GEMV_MMA_SPLIT    /* fp32 in hi and lo parts of tf32: three products */
} gemv_product;

/* What the tensor cores do for the logits, and for products with their gradients, which are fp32. */
static inline gemv_product gemv_logits_by(ridge_dtype dtype) {
    return ridge_dtype_size(dtype) == 2 ? GEMV_MMA_16 : dtype == RIDGE_TF32 ? GEMV_MMA_TF32 : GEMV_MMA_SPLIT;
}
static inline gemv_product gemv_gradients_by(ridge_dtype dtype) {
    return ridge_dtype_size(dtype) == 2 ? GEMV_MMA_WIDENED : gemv_logits_by(dtype);
}

typedef struct gemv_plan {
    gemv_product product;
    int rows, groups;     /* of a group: 1, 4, 8, 16 or 32 */
    int64_t each, shares; /* steps of the depth of a share */
    int64_t tiles;        /* of outputs, at most */
} gemv_plan;

/* Rows of a block: what its registers are for. */
static inline int gemv_rows(int64_t batch) { return batch <= 1 ? 1 : batch <= 4 ? 4 : batch <= 8 ? 8 : GEMV_ROWS; }

/* By multiply-adds, lines across the depth: outputs of a lane, and blocks of an SM. Of 16 bits registers do not suffice for a third
 * block, since edges come element by element. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    gemv_lane_outputs(int rows, int bytes) {
    return bytes == 4 || rows == GEMV_ROWS ? 4 : 8;
}
#ifdef __cplusplus
constexpr
#endif
    static inline int
    gemv_resident(int rows, int bytes) {
    return bytes == 2 || rows > 4 ? 2 : 3;
}

/* Elements of x that a block has in shared memory: two blocks of an SM fit. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    gemv_room(gemv_product product) {
    return product == GEMV_FFMA ? 12288 : product == GEMV_MMA_16 ? 24576 : product == GEMV_MMA_WIDENED ? 16384 : 20480;
}

/* Outputs of a tile, at the least. along: w's lines run along the depth. */
static inline int64_t gemv_tile(gemv_product product, bool along) {
    if (product == GEMV_FFMA || along) return GEMV_TILE;
    return product == GEMV_MMA_16 || product == GEMV_MMA_WIDENED ? 2 * GEMV_TENSOR_TILE : GEMV_TENSOR_TILE;
}

/* side: products beside each other, of several heads. tensor: what the tensor cores do where they multiply. There are no
 * more shares where lines run across the depth than where they run along it. */
static inline gemv_plan gemv_plan_of(int64_t batch, int64_t depth, int64_t outputs, int64_t side, gemv_product tensor,
                                     bool along) {
    gemv_plan p;
    p.product = batch >= (tensor == GEMV_MMA_16 ? GEMV_TENSOR_16 : GEMV_TENSOR) ? tensor : GEMV_FFMA;
    p.rows = p.product != GEMV_FFMA && batch > GEMV_ROWS ? 2 * GEMV_ROWS : gemv_rows(batch);

    p.groups = (int)((batch + p.rows - 1) / p.rows);
    const int64_t tile = gemv_tile(p.product, along);
    p.tiles = (outputs + tile - 1) / tile;
    const int64_t step = p.product == GEMV_FFMA ? GEMV_STEP : 2 * GEMV_STEP; /* tensor.cuh: of all warps */
    const int64_t most = gemv_room(p.product) / p.rows / step * step, blocks = p.tiles * p.groups * side;
    int64_t shares = (depth + most - 1) / most, wanted = (GEMV_BLOCKS + blocks - 1) / (blocks > 0 ? blocks : 1);
    if (wanted > depth / GEMV_SHARE) wanted = depth / GEMV_SHARE;
    if (blocks <= GEMV_BLOCKS / 2 && shares < wanted) shares = wanted;
    if (shares < 1) shares = 1;
    p.each = ((depth + shares - 1) / shares + GEMV_STEP - 1) / GEMV_STEP * GEMV_STEP;
    if (p.each < GEMV_STEP) p.each = GEMV_STEP;
    p.shares = depth > 0 ? (depth + p.each - 1) / p.each : 1;
    return p;
}

/* Tiles that a block takes one after the other, of `tiles` of each of `parts` shares and groups, and how often an SM then has as
 * many blocks as fit it. x is in shared memory once for all of them, and each one's w is under way while the sums of the one before
 * are added. */
typedef struct gemv_turns {
    int64_t tiles, turns;
} gemv_turns;
/* Those that are soonest done, where x takes about as long as two thirds of a tile. One block more than fit is a turn more: 29 x
 * 4451 x 14541 in f16 took 158 us with 133 blocks for 132 places, and 118 since. */
static inline gemv_turns gemv_turns_of(int64_t tiles, int64_t parts, int resident) {
    const int64_t wave = GEMV_BLOCKS / 2 * resident;
    gemv_turns best = {1, 1};
    for (int64_t each = 1, least = INT64_MAX; each <= 64 && (each == 1 || each <= tiles); each++) {
        const int64_t turns = ((tiles + each - 1) / each * parts + wave - 1) / wave, thirds = turns * (3 * each + 2);
        if (thirds < least) least = thirds, best.tiles = each, best.turns = turns;
    }
    return best;
}

/* Lines of fp32 in scratch. */
static inline int64_t gemv_stride(int64_t outputs) { return (outputs + 31) / 32 * 32; }
/* Parts of a row: of tiles, or of blocks that add shares. */
static inline int64_t gemv_parts(int64_t outputs) { return (outputs + GEMV_TENSOR_TILE - 1) / GEMV_TENSOR_TILE + 1; }

/* Offsets in scratch; multiples of 1024. Rows: of all heads. */
typedef struct gemv_scratch {
    size_t z;     /* float[shares][rows][stride]: sums, then logits in the place of the first, then their gradients */
    size_t parts; /* softmax_part[rows][gemv_parts] */
    size_t sums;  /* float, likewise: of logits */
    size_t label_logit, rows; /* float[rows], row_gradient[rows] */
    size_t dx;                /* float[shares][rows][depth's stride] */
    size_t bytes;
    int64_t stride, dx_stride;
} gemv_scratch;

/* Whether the sums of all shares do, however w lies. */
static inline int gemv_fits(int64_t batch, int64_t depth, int64_t outputs, int64_t side, gemv_product tensor) {
    const gemv_plan p = gemv_plan_of(batch, depth, outputs, side, tensor, true);
    const double rows = (double)batch * (double)side, sums = 4.0 * (double)p.shares * (double)gemv_stride(outputs);
    return p.shares <= 65535 && rows * sums <= (double)((int64_t)GEMV_MIB << 20);
}
static inline gemv_scratch gemv_scratch_of(int64_t batch, int64_t depth, int64_t classes, int64_t heads,
                                           ridge_dtype dtype, int gradients) {
    const gemv_plan z = gemv_plan_of(batch, depth, classes, heads, gemv_logits_by(dtype), true);
    const gemv_plan dx = gemv_plan_of(batch, classes, depth, 1, gemv_gradients_by(dtype), true);
    const double rows = (double)heads * (double)batch, parts = rows * (double)gemv_parts(classes);
    gemv_scratch s;
    memset(&s, 0, sizeof s);
    s.stride = gemv_stride(classes), s.dx_stride = gemv_stride(depth);
    s.z = linear_scratch_take(&s.bytes, 4.0 * (double)z.shares * rows * (double)s.stride);
    s.parts = linear_scratch_take(&s.bytes, parts * (double)sizeof(softmax_part));
    s.sums = linear_scratch_take(&s.bytes, parts * 4);
    s.label_logit = linear_scratch_take(&s.bytes, rows * 4);
    s.rows = linear_scratch_take(&s.bytes, rows * (double)sizeof(row_gradient));
    s.dx = linear_scratch_take(&s.bytes, gradients ? 4.0 * (double)dx.shares * rows * (double)s.dx_stride : 0);
    return s;
}

#endif
