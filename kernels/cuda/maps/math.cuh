/* Sine and square root for maps that must keep up with memory: a handful of instructions, no branch that is taken for
 * ordinary arguments, no call, no local memory. */
#ifndef RIDGE_KERNELS_CUDA_MAPS_MATH_CUH
#define RIDGE_KERNELS_CUDA_MAPS_MATH_CUH

#include <stdint.h>

#include "cuda/ptx/math.cuh"

namespace ridge {

/* Up to here sin_near is accurate; every finite f16 is below. */
constexpr float sin_near_limit = 131072.0f;

/* Sine with an absolute error of at most 3 2^-24, |x| <= sin_near_limit. k half turns are taken off with pi in two
 * parts: k pi_high is a product within one fused operation, and x - k pi_high is exact, because both are multiples of
 * 2^-23 there and the difference is below 2. The rest, at most pi/2 in magnitude, goes into a polynomial of degree 9
 * (minimax, 0.1 2^-24). NaN gives NaN, and so does an infinity. */
__device__ inline float sin_near(float x) {
    const float magic = 0x1.8p23f; /* added, it leaves the nearest integer in the low bits */
    const float biased = fmaf(x, 0x1.45f306p-2f, magic);
    const float k = biased - magic;
    float r = fmaf(k, -0x1.921fb6p1f, x);
    r = fmaf(k, 0x1.777a5cp-24f, r);
    r = __uint_as_float(__float_as_uint(r) ^ (__float_as_uint(biased) << 31)); /* an odd k turns the sign */
    const float s = r * r;
    float p = fmaf(0x1.5cd9eep-19f, s, -0x1.9f5dc2p-13f);
    p = fmaf(p, s, 0x1.110e5ep-7f);
    p = fmaf(p, s, -0x1.555548p-3f);
    return fmaf(r * s, p, r);
}

/* 1 / (2 pi) in binary: 32 zeros, then its digits from 2^-1 on. */
__constant__ const uint32_t turns_of_radian[7] = {0,          0x28be60db, 0x9391054a, 0x7f09d5f4,
                                                  0x7d4d3770, 0x36d8a566, 0x4f10e410};

/* An angle within [-pi/2, pi/2] that has the sine of x, for |x| > sin_near_limit (Payne and Hanek's reduction: only the
 * digits of 1/(2 pi) that leave a fraction of a turn are multiplied). Not finite: NaN. */
__device__ inline float sin_wrap(float x) {
    const uint32_t bits = __float_as_uint(x);
    const int exponent = (int)(bits >> 23 & 255);
    if (exponent == 255) return x - x;
    const uint32_t digits = (bits & 0x7fffff) | 0x800000;                      /* |x| = digits 2^(exponent - 150) */
    const int from = exponent - 150 + 32, word = from >> 5, shift = from & 31; /* 26 <= from <= 136 */
    const uint32_t a = turns_of_radian[word], b = turns_of_radian[word + 1], c = turns_of_radian[word + 2];
    const uint32_t high = __funnelshift_l(b, a, shift), low = __funnelshift_l(c, b, shift);
    /* The top 32 bits of digits x 0.high:low, whole turns dropped: off by less than 2^-31 of a turn. */
    const uint32_t turn = digits * high + __umulhi(digits, low);
    const uint32_t half_turns = (turn + 0x40000000u) >> 31;
    const float r = (float)(int32_t)(turn - (half_turns << 31)) * 0x1.921fb6p-30f; /* 2 pi 2^-32 */
    return __uint_as_float(__float_as_uint(r) ^ (half_turns << 31) ^ (bits & 0x80000000u));
}

/* Square root of a normal number far from the ends of the range, NaN of NaN: within 0.51 of the last place. sqrtf has
 * to ask about zeros, denormals and infinities; here one correction follows the hardware's reciprocal root. */
__device__ inline float sqrt_normal(float t) {
    const float h = rsqrt_approx_ftz(t);
    const float root = t * h;
    return fmaf(fmaf(-root, root, t), 0.5f * h, root);
}

/* The same off by at most 2^-23 relative, one instruction: for results that are rounded to
 * 16 bits. */
__device__ inline float sqrt_coarse(float t) { return sqrt_approx_ftz(t); }

}  // namespace ridge

#endif
