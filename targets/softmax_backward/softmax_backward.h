/* What target.c, cpu.c and cuda.cu know of softmax_backward.
 *
 *   dx = scale y (dy - sum(y dy))        of y = softmax(scale x)
 *   dx = scale (dy - exp(y) sum(dy))     of y = log softmax(scale x) */
#ifndef RIDGE_SOFTMAX_BACKWARD_H
#define RIDGE_SOFTMAX_BACKWARD_H

#include "ridge/target.h"

enum { SOFTMAX_BACK_ROWS, SOFTMAX_BACK_COLS }; /* dims */
enum { SOFTMAX_BACK_Y, SOFTMAX_BACK_DY };      /* inputs */
enum { SOFTMAX_BACK_SCALE, SOFTMAX_BACK_LOG }; /* options */

/* The kernels that have a row in registers. THIS IS THE ONE LIST: a line more is a kernel more, its name and its test.
 *
 *   X(name, threads, packs, idea)      so many threads have a row, so many pieces of 16 bytes each */
#define SOFTMAX_BACK_TILES(X)                                                 \
    X(half_warp, 16, 2, "16 threads have a row, two pieces of 16 bytes each") \
    X(warp, 32, 4, "a warp has a row, four pieces a thread")                  \
    X(block_128x2, 128, 2, "128 threads have a row, two pieces each")         \
    X(block_256x2, 256, 2, "256 threads, two pieces each")                    \
    X(block_512x2, 512, 2, "512 threads, two pieces each")                    \
    X(block_1024x2, 1024, 2, "1024 threads, two pieces each")

typedef struct softmax_back_tile {
    int threads, packs;
} softmax_back_tile;

#endif
