/* Codes of e4m3 and e5m2 from registers: by conversion from compute capability 8.9 on, by the rules before. */
#ifndef RIDGE_KERNELS_QUANTIZE_FP8_CUH
#define RIDGE_KERNELS_QUANTIZE_FP8_CUH

#include <cuda_fp8.h>

#include "quantize/mx_rule.h"
#include "quantize/warps.cuh"

namespace ridge {

/* Codes of two finite numbers, the first in the low byte. */
template <ridge_dtype Element>
__device__ inline unsigned fp8_pair(float low, float high) {
    static_assert(Element == RIDGE_E4M3 || Element == RIDGE_E5M2);
#if __CUDA_ARCH__ >= 890
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE,
                                    Element == RIDGE_E5M2 ? __NV_E5M2 : __NV_E4M3);
#else
    return rule_mx_code(Element, low) | rule_mx_code(Element, high) << 8;
#endif
}

/* Writes the codes of W columns from column j: whole words, or those before `cols`. */
template <ridge_dtype Element, bool Whole, int W>
__device__ inline void put_fp8(unsigned char *q, int j, int cols, const float (&v)[W]) {
    unsigned word[W / 4];
#pragma unroll
    for (int k = 0; k < W / 4; k++)
        word[k] = fp8_pair<Element>(v[4 * k], v[4 * k + 1]) | fp8_pair<Element>(v[4 * k + 2], v[4 * k + 3]) << 16;
    if constexpr (Whole && W == 8)
        *(uint2 *)(q + j) = make_uint2(word[0], word[1]);
    else if constexpr (Whole)
        *(unsigned *)(q + j) = word[0];
    else
#pragma unroll
        for (int e = 0; e < W; e++)
            if (j + e < cols) q[j + e] = (unsigned char)(word[e / 4] >> e % 4 * 8);
}
template <bool Whole, int W>
__device__ inline void put_e4m3(unsigned char *q, int j, int cols, const float (&v)[W]) {
    put_fp8<RIDGE_E4M3, Whole>(q, j, cols, v);
}

}  // namespace ridge

#endif
