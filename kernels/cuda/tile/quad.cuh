/* Words that the four lanes of a quad exchange. */
#ifndef RIDGE_KERNELS_CUDA_TILE_QUAD_CUH
#define RIDGE_KERNELS_CUDA_TILE_QUAD_CUH

#include <cuda_runtime.h>

namespace ridge {

/* Word i of lane q and word q of lane i change places: a transposition of 4 x 4, by all lanes of a warp. */
__device__ inline void quad_transpose(unsigned (&v)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        const bool upper = threadIdx.x & bit;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & bit) continue;
            unsigned &first = v[i], &second = v[i + bit];
            const unsigned other = __shfl_xor_sync(0xffffffffu, upper ? first : second, bit);
            if (upper)
                first = other;
            else
                second = other;
        }
    }
}

}  // namespace ridge

#endif
