/* The transpose of tiles of sums on its way to memory: what is down a tile is along the lines of C. Products whose left operand
 * is the matrix of weights (2:4 sparse ones must be) leave rows of activations so, and no pass transposes them. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_STORE_TRANSPOSED_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_STORE_TRANSPOSED_CUH

#include "cuda/epilogue/store.cuh"

namespace ridge {

/* store_slots of Rows values along C's lines for each warpgroup: 64, one for each row of its sums, or 32, one for each two. A slot
 * has `lines` lines, one for each column of sums, of 2 Rows bytes under their swizzle; C's map has such boxes. */
template <typename T, int N, int Rows = 64>
struct transposed_slots : store_slots<T, N> {
    static_assert(sizeof(T) == 2 && (Rows == 64 || Rows == 32), "stmatrix moves 16 bits");
    static constexpr int line_bytes = 2 * Rows, lines = 8192 / line_bytes, chunks = N / lines;
    static constexpr int of_warp = Rows / 32; /* pieces of 16 bytes of a line */
    static_assert(N % lines == 0, "whole chunks");

    __device__ static uint32_t piece_at(int line, int piece) {
        return (uint32_t)(Rows == 64 ? swizzle_128B(line, piece) : line * 64 + (piece ^ line / 2 % 4) * 16);
    }
    /* v: as wgmma leaves sums (tile/fragment.cuh); of 32 rows, those of a thread's one row. */
    __device__ static void write(uint32_t slot, const float (&v)[N / 4 * of_warp], int chunk) {
        const int lane = (int)threadIdx.x % 32, matrix = lane / 8;
        const int piece = thread_of_warpgroup() / 32 * of_warp + matrix % of_warp;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const float *s = &v[chunk * 32 + 2 * i];
            const int line = 8 * (i / of_warp + matrix / of_warp) + lane % 8;
            stmatrix_x4_trans(slot + piece_at(line, piece), cvt_rn_x2(T(), s[0], s[1]), cvt_rn_x2(T(), s[2], s[3]),
                              cvt_rn_x2(T(), s[4], s[5]), cvt_rn_x2(T(), s[6], s[7]));
        }
    }
    __device__ void put(const float (&v)[N / 4 * of_warp], int tile) const {
        this->template each<chunks>(tile, [&](uint32_t to, int chunk) { write(to, v, chunk); });
    }
    __device__ static int2 place(const matmul_tile &tile, int group, int chunk) {
        return make_int2(tile.m / (64 / Rows) + group * Rows, tile.n + chunk * lines);
    }
};

}  // namespace ridge

#endif
