/* What a tile of the GPU's kernel is, for the launch and for its plan: of C and CUDA. */
#ifndef RIDGE_MICRO_TILING_TILES_H
#define RIDGE_MICRO_TILING_TILES_H

/* A block has 16 x 16 threads. */
enum { MICRO_SIDE = 16, MICRO_THREADS = MICRO_SIDE * MICRO_SIDE, MICRO_PIECE = 16 /* bytes */ };

/* name; rows and columns of sums of a thread; blocks of an SM; predicted cycles of an SM for a tile and a step of K,
 * measured on no GPU yet but those of 8 x 8, which gemm/any.cuh has measured for its tile on an H200. */
#define MICRO_TILES(X)         \
    X(tiles_4x8, 4, 8, 2, 110) \
    X(tiles_8x8, 8, 8, 2, 170) \
    X(tiles_8x16, 8, 16, 1, 300)

#endif
