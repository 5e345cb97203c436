/* e4m3 with a scale for each 128 columns of a row, as a rule of quantize/warps.cuh. */
#ifndef RIDGE_KERNELS_QUANTIZE_FP8_RULE_CUH
#define RIDGE_KERNELS_QUANTIZE_FP8_RULE_CUH

#include "quantize/fp8.cuh"

namespace ridge {

struct fp8_rule {
    static constexpr int block = 128, code_bits = 8;
    static constexpr bool octets = false;

    struct scale {
        float max; /* NaN: a value is not finite */
    };
    float *s;
    int64_t stride;

    __device__ void begin(void) {}
    __device__ scale of(unsigned max_bits, bool) const {
        return {__uint_as_float(max_bits >= 0x7f800000u ? 0x7fffffffu : max_bits)};
    }
    __device__ float factor(const scale &of) const { return rule_fp8_factor(of.max); }
    __device__ bool is_odd(const scale &of) const { return __float_as_uint(of.max) >= 0x7f800000u; }

    template <int U>
    __device__ void put_scales(const scale (&of)[U], const quantize_place &at, int apart) const {
        if (threadIdx.x % (block / 8) != 0) return; /* 8: the most columns of a lane */
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (u * apart * block < at.cols)
                s[at.row * stride + at.k + u * apart] = is_odd(of[u]) ? of[u].max : rule_fp8_scale(of[u].max);
        }
    }

    template <typename T, int V, int N>
    static __device__ void codes(const uint4 (&x)[V], unsigned, float factor, unsigned (&code)[N]) {
        fp8_codes<RIDGE_E4M3, T>(x, factor, code);
    }
};

}  // namespace ridge

#endif
