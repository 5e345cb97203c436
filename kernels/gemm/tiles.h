/* The tiles by which products in 16 bits are made on Hopper. THIS IS THE ONE LIST: a line more is a kernel more, its
 * plan, its launch, its name in `ridge list` and its test.
 *
 *   X(name, columns, stages, cluster_m, cluster_n, split, rate, idea)
 *
 * A tile has 128 rows. split: K is cut in shares that blocks have side by side, and a second launch adds. rate: FLOP
 * that an SM does in a microsecond with such tiles where few SMs are busy, so that power does not limit their clock:
 * from 1024 x 1024 x 4096 on one H100. */
#ifndef RIDGE_GEMM_TILES_H
#define RIDGE_GEMM_TILES_H

#include <stdbool.h>

#define GEMM_TILES(X)                                                                               \
    GEMM_TILE_256(X)                                                                                \
    X(pairs_256, 256, 4, 2, 1, false, 7.0e6, "128 x 256, pairs of blocks share B")                  \
    X(tile_192, 192, 4, 2, 1, false, 7.0e6, "128 x 192: where it fills waves of SMs better")        \
    GEMM_TILE_128(X)                                                                                \
    X(tile_64, 64, 8, 1, 1, false, 4.2e6, "128 x 64: few columns")                                  \
    X(shares_256, 256, 4, 2, 1, true, 7.0e6, "128 x 256, and K in shares: few tiles, and a long K") \
    GEMM_SHARES_128(X)                                                                              \
    X(shares_64, 64, 8, 1, 1, true, 4.2e6, "128 x 64, and K in shares: few columns")
/* Those with which more can be made of the product (terms.cuh). */
#define GEMM_TERMS_TILES(X) GEMM_TILE_256(X) GEMM_TILE_128(X) GEMM_SHARES_128(X)

#define GEMM_TILE_256(X) X(tile_256, 256, 4, 1, 1, false, 7.0e6, "128 x 256 sums a block")
#define GEMM_TILE_128(X) X(tile_128, 128, 6, 2, 1, false, 6.8e6, "128 x 128: more tiles, where 128 x 256 are few")
#define GEMM_SHARES_128(X) X(shares_128, 128, 6, 2, 1, true, 6.8e6, "128 x 128, and K in shares")

/* The tiles of fp32 operands in hi and lo parts (hi_lo.h), likewise. rate: FLOP of the three products, from the losses
 * of a linear layer on an H200, of 128 columns; of 64 columns a prediction. */
#define GEMM_HI_LO_128(X) X(hi_lo_128, 128, 3, 2, 1, false, 5.2e6, "128 x 128, fp32 as hi and lo parts: three products")
#define GEMM_HI_LO_TILES(X)                                                   \
    GEMM_HI_LO_128(X)                                                         \
    X(hi_lo_64, 64, 4, 2, 1, false, 2.8e6, "128 x 64, likewise: few columns") \
    X(hi_lo_shares, 128, 3, 2, 1, true, 5.2e6, "128 x 128, likewise, and K in shares")

/* The tiles of tf32 operands, likewise: the hi parts alone, one product. rate: of the same tiles in GEMM_TILES. */
#define GEMM_HI_TILES(X)                                                         \
    X(hi_256, 256, 4, 2, 1, false, 7.0e6, "128 x 256, tf32 as one part in fp16") \
    X(hi_64, 64, 8, 2, 1, false, 4.2e6, "128 x 64, likewise: few columns")       \
    X(hi_shares, 256, 4, 2, 1, true, 7.0e6, "128 x 256, likewise, and K in shares")

/* The tiles of operands in 16 bits by tcgen05 (compute capability 10.0), likewise: a cluster of two blocks is a pair, which has
 * one tile. rate: a B200's published one. Nobody here has measured any. */
#define GEMM_TENSOR_TILES(X)                                                                    \
    X(tensor_pairs, 256, 6, 2, 1, false, 15.2e6, "256 x 256 sums a pair of blocks, by tcgen05") \
    X(tensor_blocks, 256, 4, 1, 1, false, 15.2e6, "128 x 256 sums a block, by tcgen05: few rows")

typedef struct gemm_tile {
    int columns, stages, cluster_m, cluster_n;
    bool split;
    double rate;
    int products; /* of the tensor cores, for each of the problem's: of parts, 3 of hi and lo, or 1 of hi alone */
} gemm_tile;
enum { GEMM_TILE_ROWS = 128, GEMM_SLICE = 64, GEMM_MOST_SHARES = 128 };

#endif
