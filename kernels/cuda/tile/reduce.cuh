/* Maxima and sums over the lanes of a warp; every lane gets the result. */
#ifndef RIDGE_KERNELS_CUDA_TILE_REDUCE_CUH
#define RIDGE_KERNELS_CUDA_TILE_REDUCE_CUH

#include <cuda_runtime.h>

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

}  // namespace ridge

#endif
