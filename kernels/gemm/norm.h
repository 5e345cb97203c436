/* y = gelu(layer_norm(x w + b) gamma + beta) on a GPU: its ways. Of C and CUDA.
 *
 * In 16 bits the product's epilogue leaves what layer norm needs: z = (h - m) / s for the N columns of each row of a tile,
 * rounded to the storage type, and m and d, the mean and the deviation of these columns, in fp32. s is d's power of two, so
 * that z is of order one whatever h is: neither a large mean nor f16's range costs accuracy. Row passes merge the tiles' m
 * and d in their order, and make y of z. Who makes them is what the ways differ in:
 *
 *   passes   a second launch
 *   beside   the two idle warps of each block's producer warpgroup, while its other warps multiply the next tiles: z is
 *            still in L2. A row is ready when a counter of its 128 rows says so; warps take rows by a ticket. Behind the
 *            last tile all warps take part.
 *
 * In fp32, and where TMA cannot load the operands, h goes to fp32 and a second launch reads it (norm_rows.cuh). */
#ifndef RIDGE_GEMM_NORM_H
#define RIDGE_GEMM_NORM_H

#include <stddef.h>

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Tensors; dims are MATMUL_…. */
enum { GEMM_NORM_X, GEMM_NORM_W, GEMM_NORM_BIAS, GEMM_NORM_GAMMA, GEMM_NORM_BETA, GEMM_NORM_INPUTS };

/* A tile of tiles.h, without clusters, and who makes the row passes. X(name, columns, stages, beside, rate, idea). */
#define GEMM_NORM_TILES(X)                                                                                          \
    X(beside_256, 256, 4, true, 7.0e6, "128 x 256, statistics with the sums, row passes by idle warps beside them") \
    X(passes_256, 256, 4, false, 7.0e6, "the same, row passes by a second launch")
typedef struct gemm_norm_tile {
    gemm_tile tile;
    bool beside;
} gemm_norm_tile;

/* Offsets in scratch. */
typedef struct gemm_norm {
    int64_t line;         /* elements of a line of z */
    int tiles, row_tiles; /* across and down */
    size_t z, parts;      /* parts: m and d, [tiles][rows] */
    size_t counters;      /* of row tiles, and the ticket */
    size_t bytes;
} gemm_norm;
gemm_norm gemm_norm_of(const gemm_tile *tile, const gemm_problem *g);

#define GEMM_ONE_MORE(...) +1
enum { GEMM_NORM_WAYS = 0 GEMM_NORM_TILES(GEMM_ONE_MORE) + 2 };
#undef GEMM_ONE_MORE
extern const ridge_way gemm_norm_ways[GEMM_NORM_WAYS];

#endif
