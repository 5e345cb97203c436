/* Codes of e4m3 from registers. */
#ifndef RIDGE_KERNELS_QUANTIZE_FP8_CUH
#define RIDGE_KERNELS_QUANTIZE_FP8_CUH

#include <cuda_fp8.h>

#include "quantize/warps.cuh"

namespace ridge {

/* Writes the codes of W columns from column j: whole words, or those before `cols`. */
template <bool Whole, int W>
__device__ inline void put_e4m3(unsigned char *q, int j, int cols, const float (&v)[W]) {
    unsigned word[W / 4];
#pragma unroll
    for (int k = 0; k < W / 4; k++) {
        const unsigned low = __nv_cvt_float2_to_fp8x2(make_float2(v[4 * k], v[4 * k + 1]), __NV_SATFINITE, __NV_E4M3);
        const unsigned high =
            __nv_cvt_float2_to_fp8x2(make_float2(v[4 * k + 2], v[4 * k + 3]), __NV_SATFINITE, __NV_E4M3);
        word[k] = low | high << 16;
    }
    if constexpr (Whole && W == 8)
        *(uint2 *)(q + j) = make_uint2(word[0], word[1]);
    else if constexpr (Whole)
        *(unsigned *)(q + j) = word[0];
    else
#pragma unroll
        for (int e = 0; e < W; e++)
            if (j + e < cols) q[j + e] = (unsigned char)(word[e / 4] >> e % 4 * 8);
}

}  // namespace ridge

#endif
