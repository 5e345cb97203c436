/* How blocks share a product of few rows (gemv/product.cuh): plain arithmetic on its extents, of C and CUDA.
 *
 * z[rows, outputs] = x[rows, depth] w[outputs, depth]^T. A block has a tile of the outputs, a group of up to 16 rows
 * and a share of the depth: x of that share is in its shared memory. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_PLAN_H
#define RIDGE_KERNELS_CUDA_GEMV_PLAN_H

#include <stdint.h>
#include <string.h>

#include "cuda/epilogue/parts.h"
#include "cuda/host/scratch.h"

enum {
    GEMV_BATCH = 64,       /* rows at most */
    GEMV_MIB = 256,        /* of the sums of all shares, at most */
    GEMV_ROWS = 16,        /* of a group, at most, by multiply-adds */
    GEMV_TENSOR = 9,       /* rows from which on products of 16 bits are the tensor cores' */
    GEMV_X = 12288,        /* elements of x that a block has in shared memory */
    GEMV_X16 = 24576,      /* likewise, of 16 bits */
    GEMV_STEP = 64,        /* of the depth: shares are multiples of it */
    GEMV_SHARE = 128,      /* steps of the depth that are worth a share */
    GEMV_BLOCKS = 264,     /* that shares are made for, two for each of an H200's SMs: scratch depends on it */
    GEMV_TILE = 124,       /* outputs of the narrowest tile of multiply-adds */
    GEMV_TENSOR_TILE = 56, /* likewise, of the tensor cores */
    GEMV_SUMMED = 1024     /* outputs of a block that adds shares */
};

typedef struct gemv_plan {
    int tensor;           /* whether the tensor cores multiply */
    int rows, groups;     /* of a group: 1, 4, 8, 16 or, tensor, 32 */
    int64_t each, shares; /* steps of the depth of a share */
    int64_t tiles;        /* of outputs, at most */
} gemv_plan;

/* Rows of a block: what its registers are for. */
static inline int gemv_rows(int64_t batch) { return batch <= 1 ? 1 : batch <= 4 ? 4 : batch <= 8 ? 8 : GEMV_ROWS; }

/* side: products beside each other, of several heads. bytes: of an element of x. */
static inline gemv_plan gemv_plan_of(int64_t batch, int64_t depth, int64_t outputs, int64_t side, int bytes) {
    gemv_plan p;
    p.tensor = bytes == 2 && batch >= GEMV_TENSOR;
    p.rows = p.tensor && batch > 16 ? 32 : gemv_rows(batch);

    p.groups = (int)((batch + p.rows - 1) / p.rows);
    p.tiles = (outputs + GEMV_TILE - 1) / GEMV_TILE;
    const int64_t most = (p.tensor ? GEMV_X16 : GEMV_X) / p.rows / GEMV_STEP * GEMV_STEP,
                  blocks = p.tiles * p.groups * side;
    int64_t shares = (depth + most - 1) / most, wanted = (GEMV_BLOCKS + blocks - 1) / (blocks > 0 ? blocks : 1);
    if (wanted > depth / GEMV_SHARE) wanted = depth / GEMV_SHARE;
    if (blocks <= GEMV_BLOCKS / 2 && shares < wanted) shares = wanted;
    if (shares < 1) shares = 1;
    p.each = ((depth + shares - 1) / shares + GEMV_STEP - 1) / GEMV_STEP * GEMV_STEP;
    if (p.each < GEMV_STEP) p.each = GEMV_STEP;
    p.shares = depth > 0 ? (depth + p.each - 1) / p.each : 1;
    return p;
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

/* Whether the sums of all shares do. */
static inline int gemv_fits(int64_t batch, int64_t depth, int64_t outputs, int64_t side, int bytes) {
    const gemv_plan p = gemv_plan_of(batch, depth, outputs, side, bytes);
    const double rows = (double)batch * (double)side, sums = 4.0 * (double)p.shares * (double)gemv_stride(outputs);
    return p.shares <= 65535 && rows * sums <= (double)((int64_t)GEMV_MIB << 20);
}
static inline gemv_scratch gemv_scratch_of(int64_t batch, int64_t depth, int64_t classes, int64_t heads, int bytes,
                                           int gradients) {
    const gemv_plan z = gemv_plan_of(batch, depth, classes, heads, bytes);
    const gemv_plan dx = gemv_plan_of(batch, classes, depth, 1, 4);
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
