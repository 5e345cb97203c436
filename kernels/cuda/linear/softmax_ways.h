/* The ways of softmax(x w + b) on a GPU, of one head or several, whose logits stay on the chip, and those of few rows. Of C
 * and CUDA: kernels/linear/softmax_ways.c says what each refuses, costs, moves and needs; linear/softmax_rows.cu and
 * softmax_tiles.cu run them. Logits in memory are linear/logits.h.
 *
 *   skinny_*       up to 128 classes in fp32: skinny/ways.h
 *   tiles_*        up to 8192 classes, logits in registers: linear/softmax_tiles.cu
 *   tiles_heads    several heads in 16 bits: weights copied side by side (linear/softmax_copies.cu), one product
 *   few_rows       up to 64 rows: w is read once, at memory's rate: gemv/, linear/few_rows.cu
 *   thin           up to 128 columns of all heads, 64 in f32, x read once as it lies: skinny/thin.cuh
 *   copied         operands that TMA does not take, copied to aligned memory for one of the others: gemm/repack.cuh */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_WAYS_H
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_WAYS_H

#include "cuda/linear/problem.h"
#include "cuda/skinny/ways.h"
#include "ridge/target.h"

enum {
    LINEAR_TILES = 64, /* of classes that may wait for each other, where as many run together */
    LINEAR_TILES_CLASSES = LINEAR_TILES * 128,
    LINEAR_TILE_SINGLE = 104, /* classes at most of the tile that has all of them */
    LINEAR_TILE_NARROW = 64,  /* likewise, in 16 bits */
    LINEAR_TILE_MIDDLE = 128,
    LINEAR_TILE_WIDE = 256
};

/* Behind those of skinny/ways.h. */
typedef enum linear_softmax_way {
    LINEAR_TILES_SPLIT = SKINNY_WAYS,
    LINEAR_TILES_16,
    LINEAR_TILES_HEADS,
    LINEAR_FEW_ROWS,
    LINEAR_COPIED,
    LINEAR_THIN,
    LINEAR_SOFTMAX_WAYS
} linear_softmax_way;

/* Places of the extents in dim[]; heads: -1, a single one. apart: a launch a head. */
typedef struct linear_softmax_dims {
    int batch, heads, depth, classes;
    bool apart;
} linear_softmax_dims;

/* A problem. */
typedef struct linear_softmax_facts {
    ridge_dtype dtype;
    int bytes; /* of an element */
    int64_t batch, heads, depth, classes;
    linear_matrix x, w; /* w: [classes, depth], of the first head */
    int64_t w_head;
    int sm, sm_count;
} linear_softmax_facts;
/* NULL: the way takes it. */
const char *linear_softmax_refusal(int way, const linear_softmax_facts *f);
double linear_softmax_microseconds(int way, const linear_softmax_facts *f);
/* The facts of copied operands. */
linear_softmax_facts linear_softmax_copied(const linear_softmax_facts *f);
/* The cheapest of the ways that take copied operands; -1: none. tried: bit i stands for way i, which is not to be. */
int linear_softmax_of_copied(const linear_softmax_facts *copied, unsigned tried);

/* way->own: the linear_softmax_dims. */
ridge_plan linear_softmax_way_plan(const ridge_way *way, const ridge_problem *problem);

ridge_arithmetic linear_thin_arithmetic(const ridge_problem *problem);                   /* fp32 by three of tf32 */
ridge_arithmetic linear_few_rows_arithmetic(const ridge_problem *problem, int64_t rows); /* the same from 9 rows on */

#endif
