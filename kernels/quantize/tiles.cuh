/* Scales of a byte in tiles (quantize/blocks.h) on a GPU. */
#ifndef RIDGE_KERNELS_QUANTIZE_TILES_CUH
#define RIDGE_KERNELS_QUANTIZE_TILES_CUH

#include "quantize/warps.cuh"

namespace ridge {

struct scale_tiles {
    unsigned char *s;
    int64_t stride; /* bytes from one row of tiles to the next */
    int64_t across; /* scales of a row, with the padding */
    __device__ unsigned char *at(int64_t i, int64_t k) const {
        return s + i / BLOCKS_TILE_ROWS * stride + k / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(i, k);
    }
};

inline scale_tiles scale_tiles_of(const DLTensor *t) {
    return {(unsigned char *)ridge_data(t), ridge_row_stride(t), t->shape[1] / BLOCKS_TILE * BLOCKS_TILE_COLS};
}
inline int64_t scale_tiles_rows(const DLTensor *t) { return t->shape[0] * BLOCKS_TILE_ROWS; }

/* Where a thread writes scales of its row. */
struct scale_row {
    unsigned char *row; /* the first scale */
    bool whole;         /* words of scales are aligned */

    /* Every lane has the scales of four blocks `apart` from k on; a block's scales are in all of its Lanes lanes. Four
     * neighbouring blocks are a word of a tile, and their lanes have four such words in columns: they exchange bytes, as a
     * transposition of 4 x 4, and each stores one. */
    template <int Lanes>
    __device__ void put(const unsigned (&code)[4], int64_t k, int apart, int lane, int64_t across) const {
        const int block = lane / Lanes % 4;
        unsigned word = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
        const unsigned beside = __shfl_xor_sync(~0u, word, Lanes);
        word = __byte_perm(word, beside, block & 1 ? 0x3715 : 0x6240);
        const unsigned across_two = __shfl_xor_sync(~0u, word, 2 * Lanes);
        word = __byte_perm(word, across_two, block & 2 ? 0x3276 : 0x5410);
        const int64_t mine = k - block + block * apart;
        if (lane % Lanes != 0 || mine >= across) return;
        unsigned char *const p = row + mine / BLOCKS_TILE_COLS * BLOCKS_TILE;
        if (whole)
            *(unsigned *)p = word;
        else
            for (int b = 0; b < BLOCKS_TILE_COLS; b++) p[b] = (unsigned char)(word >> b * 8);
    }
};
__device__ inline scale_row scale_row_of(const scale_tiles &to, unsigned i) {
    return {to.s + i / BLOCKS_TILE_ROWS * to.stride + blocks_in_tile(i % BLOCKS_TILE_ROWS, 0),
            ((uintptr_t)to.s | (uintptr_t)to.stride) % 4 == 0};
}

}  // namespace ridge

#endif
