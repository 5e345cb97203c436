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

/* By a block whose warps have the rows of an octet and the same columns, from block `first` on. Every lane has the scales of U of its
 * row's blocks, which lie 32 / Lanes apart; a block's scales are in all of its Lanes lanes. Four neighbouring blocks are a word of a
 * tile, and the octet's eight words are a sector: bytes meet in shared memory and leave together, since L2 takes a sector as long as
 * a word. */
template <int Lanes, int U>
__device__ inline void put_scale_words(const scale_tiles &to, const unsigned (&code)[U], unsigned octet,
                                       int64_t first) {
    constexpr int apart = 32 / Lanes, tiles = U * apart / BLOCKS_TILE_COLS, octet_rows = 8;
    __shared__ union {
        unsigned char scale[BLOCKS_TILE_COLS];
        unsigned word;
    } words[tiles][octet_rows + 1];
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32;
#pragma unroll
    for (int u = 0; u < U; u++) {
        const int block = u * apart + lane / Lanes;
        if (lane % Lanes == 0)
            words[block / BLOCKS_TILE_COLS][row].scale[block % BLOCKS_TILE_COLS] = (unsigned char)code[u];
    }
    __syncthreads();
    const int tile = (int)threadIdx.x / octet_rows, of = (int)threadIdx.x % octet_rows;
    const int64_t at = first / BLOCKS_TILE_COLS + tile;
    if (tile >= tiles || at >= to.across / BLOCKS_TILE_COLS) return;
    unsigned char *const p = to.s + octet / 16 * to.stride + at * BLOCKS_TILE + octet % 16 * 32 + of * 4;
    const unsigned word = words[tile][of].word;
    if (((uintptr_t)to.s | (uintptr_t)to.stride) % 4 == 0)
        *(unsigned *)p = word;
    else
        for (int b = 0; b < BLOCKS_TILE_COLS; b++) p[b] = (unsigned char)(word >> b * 8);
}

}  // namespace ridge

#endif
