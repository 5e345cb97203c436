/* The tiles of attention's gradients on Hopper. THIS IS THE ONE LIST: a line more is three kernels more, their plan, their
 * launches, their name in `ridge list` and their test.
 *
 *   X(name, depth, values, queries, keys, apart, idea)
 *
 * depth, values: dimensions of q and k, and of v, in multiples of 64: others are padded with zeros in shared memory.
 * queries: that pass by a tile of 128 keys in a step; keys: that pass by one of 128 queries. apart: the sums of dk and dv
 * do not fit the registers together; each has a launch. */
#ifndef RIDGE_ATTENTION_BACKWARD_TILES_H
#define RIDGE_ATTENTION_BACKWARD_TILES_H

#include <stdbool.h>

#define BACKWARD_TILES(X)                                                                     \
    X(tile_64, 64, 64, 64, 128, false, "a tile owns 128 keys, or 128 queries, of d to 64")    \
    X(tile_128, 128, 128, 64, 80, false, "a tile owns 128 keys, or 128 queries, of d to 128") \
    X(tile_192, 192, 192, 64, 64, true, "the same, of d to 192; dk and dv by a launch each")  \
    X(tile_256, 256, 256, 64, 64, true, "the same, of d to 256; dk and dv by a launch each")

typedef struct backward_tile {
    int depth, values, queries, keys;
    bool apart;
} backward_tile;

#endif
