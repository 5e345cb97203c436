/* Maxima and sums over the lanes of a warp; every lane gets the result. Sums of columns by a block. */
#ifndef RIDGE_KERNELS_CUDA_TILE_REDUCE_CUH
#define RIDGE_KERNELS_CUDA_TILE_REDUCE_CUH

#include "cuda/tile/pack.cuh"

namespace ridge {

/* Over groups of `Lanes` neighbouring lanes. A warp maximum is by integer comparison; NaN handling is unspecified. */

template <int Lanes>
__device__ inline float lanes_max(float v) {
    if constexpr (Lanes == 32) {
        const int bits = __float_as_int(v), order = __reduce_max_sync(0xffffffffu, bits ^ (bits >> 31 & 0x7fffffff));
        v = __int_as_float(order ^ (order >> 31 & 0x7fffffff));
    } else {
#pragma unroll
        for (int mask = Lanes / 2; mask > 0; mask /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, mask));
    }
    return v;
}
template <int Lanes>
__device__ inline float lanes_sum(float v) {
#pragma unroll
    for (int mask = Lanes / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

/* Over the four lanes that share a row of a fragment. */
__device__ inline float quad_max(float v) {
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
__device__ inline float quad_sum(float v) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* ---- over a block ---- */

constexpr int SUM_COLUMNS = 16, SUM_LANES = 16; /* of a block of 256 threads; a column by so many of them */

/* Sum of a column of from[rows][columns], whose lines are `line` elements apart: column `first` + threadIdx.x %
 * SUM_COLUMNS, with the threads of lane 0. The order depends on `rows` alone. room: 256 floats. */
template <typename G>
__device__ inline float block_column_sum(const G *from, int64_t line, int rows, int columns, int first, float *room) {
    const int c = (int)threadIdx.x % SUM_COLUMNS, lane = (int)threadIdx.x / SUM_COLUMNS;
    float sum = 0.0f;
    if (first + c < columns) {
#pragma unroll 8
        for (int i = lane; i < rows; i += SUM_LANES) sum += to_float(from[i * line + first + c]);
    }
    room[threadIdx.x] = sum;
    __syncthreads();
    if (lane == 0)
        for (int i = 1; i < SUM_LANES; i++) sum += room[i * SUM_COLUMNS + c];
    return sum;
}

}  // namespace ridge

#endif
