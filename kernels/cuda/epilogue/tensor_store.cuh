/* C = what an epilogue makes of sums in tensor memory, by TMA (16 bits): a warp has 32 rows, each lane one of them. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_TENSOR_STORE_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_TENSOR_STORE_CUH

#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/tcgen05.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/tile/fragment.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/swizzle.cuh"

namespace ridge {

/* Of a warp: two buffers of 32 swizzled lines of 64 columns. One is filled while TMA reads the other. */
constexpr int tensor_store_buffer = 32 * 128, tensor_store_bytes = 2 * tensor_store_buffer;
/* The buffer of a tile's columns from `column` on: they alternate from tile to tile, too, also where a tile has three. which: of
 * the two sums in turn. */
template <int N>
__device__ inline int tensor_store_turn(int which, int column) {
    return (which * (N / 64) + column / 64) % 2;
}

/* 64 columns of the lane's row, rounded, to its line of a buffer. */
template <typename T>
__device__ inline void tensor_store_line(uint32_t buffer, const float (&v)[64]) {
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int piece = 0; piece < 8; piece++) {
        const auto two = [&](int i) { return cvt_rn_x2(T(), v[8 * piece + i], v[8 * piece + i + 1]); };
        st_shared_v4(buffer + (uint32_t)swizzle_128B(lane, piece), make_uint4(two(0), two(2), two(4), two(6)));
    }
}

/* By a whole warp: 64 columns of its rows' sums at a time, put(v, column) what is done with them. sums: the warp's lanes of
 * them; read(): all are in registers. */
template <int N, class Put, class Read>
__device__ inline void tensor_each(uint32_t sums, const Put &put, const Read &read) {
#pragma unroll 1
    for (int column = 0; column < N; column += 64) {
        unsigned words[64];
        float v[64];
        tcgen05_ld_x32(words, sums + column), tcgen05_ld_x32(words + 32, sums + column + 32);
        tcgen05_wait_ld(words);
        if (column + 64 == N) read();
#pragma unroll
        for (int i = 0; i < 64; i++) v[i] = __uint_as_float(words[i]);
        put(v, column);
    }
}

/* Columns n to n + 63 of rows m to m + 31, rounded. The map's boxes are 64 columns of 32 rows; which: of the buffers. */
template <typename T>
__device__ inline void tensor_store(const CUtensorMap *map, int m, int n, const float (&v)[64], uint32_t buffers,
                                    int which) {
    const uint32_t buffer = buffers + (uint32_t)(which * tensor_store_buffer);
    const bool first = threadIdx.x % 32 == 0;
    if (first) cp_async_bulk_wait_group_read<1>();
    __syncwarp();
    tensor_store_line<T>(buffer, v);
    fence_proxy_async(); /* TMA reads what this thread has written */
    __syncwarp();
    if (first) {
        cp_async_bulk_tensor_store(map, buffer, n, m);
        cp_async_bulk_commit_group();
    }
}

}  // namespace ridge

#endif
