/* C = alpha A B[g] for groups of rows of A, as of a layer of experts: rows from ends[g - 1] to ends[g] are multiplied by
 * B[g]. Where groups end is known on the device alone, so a launch finds its tiles there. Options, A and C are those of
 * problem.h; every matrix is row-major. Of C and CUDA. */
#ifndef RIDGE_GEMM_GROUPED_H
#define RIDGE_GEMM_GROUPED_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

enum { GROUPED_GROUPS = MATMUL_K + 1 }; /* a place in dim[] behind M, N, K */
enum { GROUPED_ENDS = GEMM_B + 1 };     /* an input; C is out[0] */

/* Tiles as in tiles.h, without clusters: a group's last tile of rows has no neighbour. */
#define GEMM_GROUPED_TILES(X)                                                                      \
    X(grouped_256, 256, 4, 1, 1, false, 7.0e6, "128 x 256, tile after tile through all groups")    \
    X(grouped_128, 128, 6, 1, 1, false, 6.8e6, "128 x 128, likewise: few tiles, or fewer columns") \
    X(grouped_64, 64, 8, 1, 1, false, 4.2e6, "128 x 64, likewise: few rows, so that B is what counts")

#define GEMM_ONE_MORE(...) +1
enum { GEMM_GROUPED_WAYS = 0 GEMM_GROUPED_TILES(GEMM_ONE_MORE) + 1 };
#undef GEMM_ONE_MORE
extern const ridge_way gemm_grouped_ways[GEMM_GROUPED_WAYS];
/* The same, with a launch for each group. */
extern const ridge_way gemm_group_by_group_ways[GEMM_GROUPED_WAYS];

#endif
