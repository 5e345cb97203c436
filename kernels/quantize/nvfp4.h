/* Rows of a matrix in NVFP4 (quantize/blocks.h) as fp32. */
#ifndef RIDGE_KERNELS_QUANTIZE_NVFP4_H
#define RIDGE_KERNELS_QUANTIZE_NVFP4_H

#include "cpu/vec_widen.h"
#include "quantize/blocks.h"
#include "quantize/rule.h"
#include "ridge/target.h"

enum { NVFP4_BLOCK = 16 }; /* columns that share a scale */

/* The scales of row i: of a block of its columns. */
static inline float nvfp4_scale(const unsigned char *tiles, int64_t i, int64_t block) {
    return rule_value_ue4m3(tiles[block / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(i, block)]);
}

/* q: [rows, cols], e2m1; s: rows of tiles of their scales. Row i, times `factor`, one number at a time. */
static inline void nvfp4_values(const DLTensor *q, const DLTensor *s, int64_t i, int64_t cols, float factor,
                                float *to) {
    const unsigned char *codes = (const unsigned char *)ridge_data(q) + i * ridge_row_stride(q) / 2;
    const unsigned char *tiles = (const unsigned char *)ridge_data(s) + i / BLOCKS_TILE_ROWS * ridge_row_stride(s);
    for (int64_t block = 0; block < cols / NVFP4_BLOCK; block++) {
        const vf scale = vf_set1(nvfp4_scale(tiles, i, block) * factor);
        for (int64_t j = block * NVFP4_BLOCK; j < (block + 1) * NVFP4_BLOCK; j += VF_LANES)
            vf_store(to + j, vf_mul(vf_of_e2m1(vi_load_nibbles(codes, j)), scale));
    }
}

#endif
