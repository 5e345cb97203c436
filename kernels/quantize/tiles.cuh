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

/* By a block whose warps have the rows of an octet and the same columns. Every lane has the scales of four of its row's blocks,
 * `apart` from k on, of which `first` is the warps' first one; a block's scales are in all of its Lanes lanes. Four neighbouring
 * blocks are a word of a tile, and their lanes have four such words in columns: they exchange bytes, as a transposition of 4 x 4.
 * Words of a sector meet in shared memory and leave together: L2 takes a sector as long as a word. */
template <int Lanes>
__device__ inline void put_scale_words(const scale_tiles &to, const unsigned (&code)[4], unsigned octet, int64_t first,
                                       int64_t k, int apart) {
    constexpr int tiles = 32 / Lanes, octet_rows = 8;
    __shared__ unsigned words[tiles][octet_rows + 1];
    const int lane = (int)threadIdx.x % 32, block = lane / Lanes % 4;
    unsigned word = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
    const unsigned beside = __shfl_xor_sync(~0u, word, Lanes);
    word = __byte_perm(word, beside, block & 1 ? 0x3715 : 0x6240);
    const unsigned across_two = __shfl_xor_sync(~0u, word, 2 * Lanes);
    word = __byte_perm(word, across_two, block & 2 ? 0x3276 : 0x5410);
    if (lane % Lanes == 0) words[(k - first - block + block * apart) / BLOCKS_TILE_COLS][threadIdx.x / 32] = word;
    __syncthreads();
    const int tile = (int)threadIdx.x / octet_rows, of = (int)threadIdx.x % octet_rows;
    const int64_t at = first / BLOCKS_TILE_COLS + tile;
    if (tile >= tiles || at >= to.across / BLOCKS_TILE_COLS) return;
    unsigned char *const p = to.s + octet / 16 * to.stride + at * BLOCKS_TILE + octet % 16 * 32 + of * 4;
    word = words[tile][of];
    if (((uintptr_t)to.s | (uintptr_t)to.stride) % 4 == 0)
        *(unsigned *)p = word;
    else
        for (int b = 0; b < BLOCKS_TILE_COLS; b++) p[b] = (unsigned char)(word >> b * 8);
}

}  // namespace ridge

#endif
