/* Gradients of an operation of rows from two matrices: what targets and kernels have in common. Of C and CUDA.
 *
 *   dx = f(a, dy, statistics of the row)        a: the operation's argument or its result; a, dy, dx: [rows, cols] */
#ifndef RIDGE_ROW_GRADIENT_H
#define RIDGE_ROW_GRADIENT_H

#include "ridge/target.h"

enum { ROW_GRADIENT_ROWS, ROW_GRADIENT_COLS }; /* dims */
enum { ROW_GRADIENT_A, ROW_GRADIENT_DY };      /* inputs */

/* The kernels that have a row in registers. THIS IS THE ONE LIST: a line more is a kernel more, its name and its test.
 *
 *   X(name, threads, packs, idea)      so many threads have a row, so many pieces of 16 bytes each */
#define ROW_GRADIENT_TILES(X)                                                 \
    X(half_warp, 16, 2, "16 threads have a row, two pieces of 16 bytes each") \
    X(warp, 32, 4, "a warp has a row, four pieces a thread")                  \
    X(block_128x2, 128, 2, "128 threads have a row, two pieces each")         \
    X(block_256x2, 256, 2, "256 threads, two pieces each")                    \
    X(block_512x2, 512, 2, "512 threads, two pieces each")                    \
    X(block_1024x2, 1024, 2, "1024 threads, two pieces each")

typedef struct row_gradient_tile {
    int threads, packs;
} row_gradient_tile;

#endif
