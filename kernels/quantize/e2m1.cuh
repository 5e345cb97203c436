/* Codes of e2m1 from registers. Hopper has no conversion to it. */
#ifndef RIDGE_KERNELS_QUANTIZE_E2M1_CUH
#define RIDGE_KERNELS_QUANTIZE_E2M1_CUH

#include "quantize/warps.cuh"

namespace ridge {

/* Bits whose last three are the code of a magnitude, as rule_e2m1 makes it. Codes are magnitudes 2 a up to 2, a + 2 up to 4, then
 * a / 2 + 4, at most 7: the least of these, of which each is rounded once, to nearest even, where fp32's last place is 1. Small: a is
 * below 7, so that the last of them needs no limit. */
template <bool Small>
__device__ inline unsigned e2m1_of(float a) {
    constexpr float one = 0x1p23f;
    const unsigned twice = __float_as_uint(fmaf(a, 2.0f, one)), once = __float_as_uint(a + (one + 2.0f)),
                   half = __float_as_uint(fmaf(a, 0.5f, one + 4.0f));
    return umin(umin(twice, once), Small ? half : umin(half, 0x4b000007u));
}
/* Signs of eight numbers where their codes have them, from bytes whose highest bit is the sign of an even, or of an odd element. */
__device__ inline unsigned e2m1_signs(unsigned even, unsigned odd) {
    return (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
}
__device__ inline unsigned e2m1_signs_of_words(unsigned a, unsigned b, unsigned c,
                                               unsigned d) { /* of 16-bit elements */
    const unsigned first = __byte_perm(a, b, 0x7531), last = __byte_perm(c, d, 0x7531);
    return e2m1_signs(__byte_perm(first, last, 0x6420), __byte_perm(first, last, 0x7531));
}
__device__ inline unsigned e2m1_signs_of(const float *v) {
    const auto two = [&](int e) { return __byte_perm(__float_as_uint(v[e]), __float_as_uint(v[e + 2]), 0x0073); };
    return e2m1_signs(__byte_perm(two(0), two(4), 0x5410), __byte_perm(two(1), two(5), 0x5410));
}
template <bool Small>
__device__ inline unsigned e2m1_magnitudes_of(const float *v) {
    unsigned codes = 0;
#pragma unroll
    for (int e = 7; e >= 0; e--) codes = codes * 16 + e2m1_of<Small>(fabsf(v[e]));
    return codes - 0x4b000000u * 17; /* 2^23, of the first two: that of others leaves the word */
}

/* Codes of a pack's elements times a factor. Small: all products are below 7. */
template <typename T, bool Small, int V, int N>
__device__ inline void e2m1_codes(const uint4 (&x)[V], float factor, unsigned (&code)[N]) {
    float v[V * pack_width<T>];
    quantize_scaled<T>(x, factor, v);
#pragma unroll
    for (int n = 0; n < N; n++) {
        float eight[8];
#pragma unroll
        for (int e = 0; e < 8; e++) eight[e] = v[8 * n + e];
        code[n] = e2m1_magnitudes_of<Small>(eight);
        if constexpr (sizeof(T) == 2)
            code[n] |= e2m1_signs_of_words(x[n].x, x[n].y, x[n].z, x[n].w);
        else
            code[n] |= e2m1_signs_of(eight);
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
