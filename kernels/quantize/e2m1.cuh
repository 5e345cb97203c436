/* Codes of e2m1 from registers. Hopper has no conversion to it. */
#ifndef RIDGE_KERNELS_QUANTIZE_E2M1_CUH
#define RIDGE_KERNELS_QUANTIZE_E2M1_CUH

#include "quantize/warps.cuh"

namespace ridge {

/* Bits whose last three are the code of a magnitude, as rule_e2m1 makes it. Codes are magnitudes 2 a up to 2, a + 2 up to 4, then
 * a / 2 + 4, at most 7: the least of these, of which each is rounded once, to nearest even, where fp32's last place is 1. */
__device__ inline unsigned e2m1_of(float a) {
    constexpr float one = 0x1p23f;
    const unsigned twice = __float_as_uint(fmaf(a, 2.0f, one)), once = __float_as_uint(a + (one + 2.0f)),
                   half = __float_as_uint(fmaf(a, 0.5f, one + 4.0f));
    return umin(umin(twice, once), umin(half, 0x4b000007u));
}
/* Codes of eight numbers, signs of their bytes: odd elements' where they belong, even ones' four places up. */
__device__ inline unsigned e2m1_of_eight(const float *v) {
    unsigned codes = 0, bits[8];
#pragma unroll
    for (int e = 7; e >= 0; e--) {
        bits[e] = __float_as_uint(v[e]);
        codes = codes * 16 + e2m1_of(fabsf(v[e]));
    }
    codes -= 0x4b000000u * 17; /* 2^23, of the first two: that of others leaves the word */
    const unsigned even = __byte_perm(__byte_perm(bits[0], bits[2], 0x0073), __byte_perm(bits[4], bits[6], 0x0073),
                                      0x5410),
                   odd = __byte_perm(__byte_perm(bits[1], bits[3], 0x0073), __byte_perm(bits[5], bits[7], 0x0073),
                                     0x5410);
    return codes | (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
}

/* Codes of a pack's elements times a factor. */
template <typename T, int V, int N>
__device__ inline void e2m1_codes(const uint4 (&x)[V], float factor, unsigned (&code)[N]) {
    float v[V * pack_width<T>], eight[8] = {};
    quantize_scaled<T>(x, factor, v);
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
        for (int e = 0; e < 8; e++) eight[e] = v[8 * n + e];
        code[n] = e2m1_of_eight(eight);
    }
}

/* The same where the factor is a power of two and elements are bf16: they are rounded as they are, two at a time. A product is
 * exact, and bf16's last place is 1/2 from 64 on, 1 from 128 on, 2 from 256 on: 2 a, a + 2 and a / 2 + 4 are rounded once
 * there. */
__device__ inline unsigned e2m1_of_two(unsigned two, __nv_bfloat162 factor) {
    const unsigned magnitudes = two & 0x7fff7fffu;
    const auto sum = [&](unsigned with) {
        const __nv_bfloat162 s = __hfma2(*(const __nv_bfloat162 *)&magnitudes, factor, *(const __nv_bfloat162 *)&with);
        return *(const unsigned *)&s;
    };
    const unsigned twice = sum(0x42804280u), once = sum(0x43024302u), half = sum(0x43844384u); /* 64, 130, 264 */
    const unsigned least = __viaddmin_u16x2(half, 0xff00ff00u, __viaddmin_u16x2(once, 0xff80ff80u, twice));
    return __viaddmin_u16x2(least, 0xbd80bd80u, 0x00070007u);
}
__device__ inline unsigned e2m1_of_pairs(const uint4 &x, __nv_bfloat162 factor) {
    const auto four = [&](unsigned a, unsigned b) { /* bytes: even, even, odd, odd elements */
                                                    return (e2m1_of_two(a, factor) + (e2m1_of_two(b, factor) << 8)) |
                                                           (__byte_perm(a, b, 0x7351) >> 4 & 0x08080808u);
    };
    const unsigned low = four(x.x, x.y), high = four(x.z, x.w);
    return __byte_perm(low, high, 0x5410) | __byte_perm(low, high, 0x7632) << 4;
}
template <int N>
__device__ inline void e2m1_codes_of_pairs(const uint4 (&x)[N], float factor, unsigned (&code)[N]) {
    const __nv_bfloat162 both = __float2bfloat162_rn(factor);
#pragma unroll
    for (int n = 0; n < N; n++) code[n] = e2m1_of_pairs(x[n], both);
}

}  // namespace ridge

#endif
