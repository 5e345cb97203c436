/* The plan of a product whose operands are read as they lie, in any type, order and alignment, by ordinary loads: where
 * TMA cannot read them, or where one of M and N is small.
 *
 * A block has a tile of GEMM_DIRECT_WIDE lines of the longer of M and N by 16 or 64 of the other, and a share of K. The
 * blocks of a cluster have shares of one tile and add their sums through distributed shared memory, in the order of the
 * shares. Where that leaves SMs idle, clusters have shares, too (split-K): their sums go to scratch, and a second launch
 * adds them in their order. */
#ifndef RIDGE_GEMM_DIRECT_H
#define RIDGE_GEMM_DIRECT_H

#include "gemm/problem.h"

enum { GEMM_DIRECT_WIDE = 128, GEMM_DIRECT_SLICE_BYTES = 128, GEMM_DIRECT_CLUSTER = 8, GEMM_DIRECT_SHARES = 16 };

typedef struct gemm_direct {
    bool transposed; /* the tile's wide side is of M, not of N */
    int narrow;      /* lines of the other side: 16 or 64 */
    int64_t wide_tiles, narrow_tiles;
    int64_t slices;      /* of K */
    int cluster, shares; /* of K: of a cluster's blocks, and of clusters */
    int64_t each;        /* slices of a block */
} gemm_direct;

gemm_direct gemm_direct_of(const gemm_problem *g);
ridge_plan gemm_direct_plan(const ridge_way *way, const ridge_problem *p);

#endif
