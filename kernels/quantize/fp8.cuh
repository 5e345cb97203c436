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

/* Codes of a pack's elements times a factor. */
template <ridge_dtype Element, typename T, int V, int N>
__device__ inline void fp8_codes(const uint4 (&x)[V], float factor, unsigned (&code)[N]) {
    float v[4 * N];
    quantize_scaled<T>(x, factor, v);
#pragma unroll
    for (int k = 0; k < N; k++)
        code[k] = fp8_pair<Element>(v[4 * k], v[4 * k + 1]) | fp8_pair<Element>(v[4 * k + 2], v[4 * k + 3]) << 16;
}

}  // namespace ridge

#endif
