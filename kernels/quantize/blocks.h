/* Block layouts: which elements share a scale, what the scale's type is, and where it lies. Each is one value.
 *
 * A block spans `rows` rows and `cols` columns along K. Scales lie row-major, [down, across], or in tiles of 512 bytes, as
 * tensor cores of compute capability 10 read them: a tile has the scales of 128 rows and of 4 blocks along K. Tiles lie
 * row-major; those of the last rows and columns are padded with zeros. */
#ifndef RIDGE_KERNELS_QUANTIZE_BLOCKS_H
#define RIDGE_KERNELS_QUANTIZE_BLOCKS_H

#include "ridge/tensor.h"

#ifdef __CUDACC__
#define BLOCKS_INLINE __host__ __device__ static inline
#else
#define BLOCKS_INLINE static inline
#endif

enum { BLOCKS_TILE_ROWS = 128, BLOCKS_TILE_COLS = 4, BLOCKS_TILE = BLOCKS_TILE_ROWS * BLOCKS_TILE_COLS };

typedef enum block_order { BLOCKS_BY_ROW, BLOCKS_IN_TILES } block_order;

typedef struct block_layout {
    const char *name;
    ridge_dtype element, scale;
    int rows, cols; /* of a block */
    block_order order;
} block_layout;

/* Those of the field: DeepSeek's for activations and for weights, OCP's MX, NVIDIA's. */
#define BLOCK_LAYOUT_LIST(X)                           \
    X(fp8_blocks, E4M3, F32, 1, 128, BLOCKS_BY_ROW)    \
    X(fp8_squares, E4M3, F32, 128, 128, BLOCKS_BY_ROW) \
    X(mxfp8, E4M3, UE8M0, 1, 32, BLOCKS_IN_TILES)      \
    X(mxfp4, E2M1, UE8M0, 1, 32, BLOCKS_IN_TILES)      \
    X(nvfp4, E2M1, UE4M3, 1, 16, BLOCKS_IN_TILES)

#define BLOCK_LAYOUT_VALUE(name, element, scale, rows, cols, order) \
    static const block_layout blocks_##name                         \
        __attribute__((unused)) = {#name, RIDGE_##element, RIDGE_##scale, rows, cols, order};
BLOCK_LAYOUT_LIST(BLOCK_LAYOUT_VALUE)
#undef BLOCK_LAYOUT_VALUE

BLOCKS_INLINE int64_t blocks_ceil_div(int64_t n, int64_t by) { return n / by + (n % by != 0); }

BLOCKS_INLINE int64_t blocks_down(const block_layout *l, int64_t rows) { return blocks_ceil_div(rows, l->rows); }
BLOCKS_INLINE int64_t blocks_across(const block_layout *l, int64_t cols) { return blocks_ceil_div(cols, l->cols); }

/* Tiles of `down` x `across` scales: rows of tiles, and bytes of a row of them. */
BLOCKS_INLINE int64_t blocks_tile_rows(int64_t down) { return blocks_ceil_div(down, BLOCKS_TILE_ROWS); }
BLOCKS_INLINE int64_t blocks_tile_bytes(int64_t across) {
    return blocks_ceil_div(across, BLOCKS_TILE_COLS) * BLOCKS_TILE;
}

/* Within its tile: the scale of row r of 128 and of block k of 4. Rows 32 apart lie side by side. */
BLOCKS_INLINE int64_t blocks_in_tile(int64_t r, int64_t k) {
    return r % 32 * 16 + r % BLOCKS_TILE_ROWS / 32 * 4 + k % BLOCKS_TILE_COLS;
}

/* The index of the scale of block (r, k) of down x across. */
BLOCKS_INLINE int64_t blocks_scale_at(const block_layout *l, int64_t across, int64_t r, int64_t k) {
    if (l->order == BLOCKS_BY_ROW) return r * across + k;
    return r / BLOCKS_TILE_ROWS * blocks_tile_bytes(across) + k / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(r, k);
}

/* All scales of a matrix, with the padding of tiles. */
BLOCKS_INLINE int64_t blocks_scales(const block_layout *l, int64_t rows, int64_t cols) {
    const int64_t down = blocks_down(l, rows), across = blocks_across(l, cols);
    return l->order == BLOCKS_BY_ROW ? down * across : blocks_tile_rows(down) * blocks_tile_bytes(across);
}

#endif
