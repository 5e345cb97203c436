/* The tiles of attention on Hopper. THIS IS THE ONE LIST: a line more is a kernel more, its plan, its launch, its name in
 * `ridge list` and its test.
 *
 *   X(name, depth, values, keys, groups, packed, step_us, tile_us, idea)
 *
 * depth, values: dimensions of q and k, and of v, in multiples of 64: others are padded with zeros in shared memory.
 * keys: of a step, for which scores are in registers. groups: warpgroups, each with 64 rows. packed: rows are the queries
 * of all heads that share keys, and blocks have parts of the keys side by side where tiles are few. step_us, tile_us: what
 * an SM of an H200 takes for a step, and besides for a tile, which choose among tiles. They are measured, but those of packed
 * tiles, of tile_256_64 and the 4.0 of tile_256 are estimates. */
#ifndef RIDGE_ATTENTION_TILES_H
#define RIDGE_ATTENTION_TILES_H

#include <stdbool.h>

#define ATTENTION_TILES(X)   \
    ATTENTION_TILE_64(X)     \
    ATTENTION_TILE_64_128(X) \
    ATTENTION_TILE_128(X)    \
    ATTENTION_TILES_192(X)   \
    ATTENTION_TILE_256(X)    \
    ATTENTION_PACKED_TILES(X)
/* Those for sequences that lie one behind the other. */
#define ATTENTION_VARLEN_TILES(X) \
    ATTENTION_TILE_64(X) ATTENTION_TILE_128(X) ATTENTION_TILES_192(X) ATTENTION_TILE_256(X)
/* Those for keys in pages, which divide their steps. */
#define ATTENTION_PAGED_TILES(X)                                                          \
    ATTENTION_TILE_64_128(X)                                                              \
    ATTENTION_TILE_128(X)                                                                 \
    X(tile_256_64, 256, 256, 64, 2, false, 1.55, 4.0, "128 queries by 64 keys, d to 256") \
    ATTENTION_PACKED_TILES(X)
/* Those for few queries. */
#define ATTENTION_PACKED_TILES(X)                                                                                 \
    X(packed_64, 64, 64, 128, 1, true, 1.4, 2.0, "few queries: rows of all heads that share keys, keys in parts") \
    X(packed_128, 128, 128, 128, 1, true, 1.4, 2.0, "few queries, d to 128")                                      \
    X(packed_256, 256, 256, 64, 1, true, 1.6, 2.5, "few queries, d to 256")

#define ATTENTION_TILE_64(X) X(tile_64, 64, 64, 128, 3, false, 1.5, 2.1, "192 queries by 128 keys, d to 64")
#define ATTENTION_TILE_64_128(X) X(tile_64_128, 64, 64, 128, 2, false, 1.2, 1.2, "128 queries by 128 keys, d to 64")
#define ATTENTION_TILE_128(X) X(tile_128, 128, 128, 128, 2, false, 1.54, 1.6, "128 queries by 128 keys, d to 128")
#define ATTENTION_TILES_192(X)                                                                            \
    X(tile_192_128, 192, 128, 128, 2, false, 2.08, 3.3, "128 queries by 128 keys, d to 192 and v to 128") \
    X(tile_192, 192, 192, 96, 2, false, 1.78, 5.0, "128 queries by 96 keys, d to 192")
#define ATTENTION_TILE_256(X) X(tile_256, 256, 256, 80, 2, false, 1.88, 4.0, "128 queries by 80 keys, d to 256")

/* Those by tcgen05 (compute capability 10.0), likewise: groups of 64 rows are four, which are two tiles of tensor memory. step_us,
 * tile_us: estimates, and nobody here has measured any. At a B200's published rates the exponentials of a step take 1.1, its products
 * 1.1 at d = 128 and 0.6 at 64. */
#define ATTENTION_TENSOR_TILES(X)                                                                 \
    X(tensor_64, 64, 64, 128, 4, false, 1.6, 3.0, "256 queries by 128 keys, d to 64, by tcgen05") \
    X(tensor_128, 128, 128, 128, 4, false, 1.7, 3.0, "256 queries by 128 keys, d to 128, by tcgen05")

typedef struct attention_tile {
    int depth, values, keys, groups;
    bool packed;
    double step_us, tile_us;
} attention_tile;

/* Most rows of heads that share keys, of packed tiles; most parts of the keys; and most that a cluster has. */
enum { ATTENTION_PACKED_ROWS = 16384, ATTENTION_PARTS = 64, ATTENTION_CLUSTER = 16 };

#endif
