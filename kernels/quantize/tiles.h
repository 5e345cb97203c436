/* Scales of a byte in tiles (quantize/blocks.h) on a CPU. */
#ifndef RIDGE_KERNELS_QUANTIZE_TILES_H
#define RIDGE_KERNELS_QUANTIZE_TILES_H

#include "quantize/blocks.h"

/* The scale of block k of row i. t: [row_tiles, tile_bytes]. */
static inline unsigned char *tiles_at(const DLTensor *t, int64_t i, int64_t k) {
    unsigned char *row = (unsigned char *)ridge_data(t) + i / BLOCKS_TILE_ROWS * ridge_row_stride(t);
    return row + k / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(i, k);
}

/* Zeros behind the last row and the last block, where tiles have scales and a matrix of so many rows and blocks has none: those of
 * rows [begin, end), and of the rows behind the matrix with its last one. */
static inline void tiles_pad(const DLTensor *t, int64_t rows, int64_t blocks, int64_t begin, int64_t end) {
    const int64_t across = t->shape[1] / BLOCKS_TILE * BLOCKS_TILE_COLS, down = t->shape[0] * BLOCKS_TILE_ROWS;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = blocks; k < across; k++) *tiles_at(t, i, k) = 0;
    for (int64_t i = rows; begin < end && end == rows && i < down; i++)
        for (int64_t k = 0; k < across; k++) *tiles_at(t, i, k) = 0;
}

#endif
