/* C[i] = alpha A[i] B[i] for a batch of products of the same extents, in one launch. Options and tensors of its targets are
 * those of problem.h, with one more dimension in front; every matrix is row-major. Of C and CUDA. */
#ifndef RIDGE_GEMM_BATCHED_H
#define RIDGE_GEMM_BATCHED_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

enum { BATCHED_BATCH, BATCHED_M, BATCHED_N, BATCHED_K }; /* places in dim[] */

/* Tiles as in tiles.h, without clusters: neighbours in a batch share no operand. */
#define GEMM_BATCHED_TILES(X)                                                                     \
    X(batched_256, 256, 4, 1, 1, false, 7.0e6, "128 x 256, tile after tile through all products") \
    X(batched_128, 128, 6, 1, 1, false, 6.8e6, "128 x 128, likewise: more tiles, or fewer columns")

#define GEMM_ONE_MORE(...) +1
enum { GEMM_BATCHED_WAYS = 0 GEMM_BATCHED_TILES(GEMM_ONE_MORE) + 1 };
#undef GEMM_ONE_MORE
extern const ridge_way gemm_batched_ways[GEMM_BATCHED_WAYS];

#endif
