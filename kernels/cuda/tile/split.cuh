/* fp32 values as hi + lo parts for the tensor cores.
 *
 *   tf32   hi is the nearest tf32 (11 bits), lo the difference, of which the tensor cores take 11 bits
 *   fp16   v = scale (hi + lo), two fp16 numbers, 22 bits; scale, a power of two, brings the largest of some values to
 * [2^14, 2^15). Values 2^-24 times smaller than the largest begin to lose bits, at 2^-40 of it.
 *
 * Three products, hi hi, hi lo and lo hi, miss at most 2^-21 of |a| |b| (Ootomo and Yokota, 2022). An infinity has no
 * lo part: inf - inf is NaN. */
#ifndef RIDGE_KERNELS_CUDA_TILE_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_TILE_SPLIT_CUH

#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

namespace ridge {

struct tf32_parts {
    unsigned hi, lo;
};
__device__ inline tf32_parts split_tf32(float v) {
    const unsigned hi = (__float_as_uint(v) + 0x1000u) & 0xffffe000u;
    return {hi, __float_as_uint(v - __uint_as_float(hi))};
}

/* A power of two that brings `most`, the largest |v| of some values, to [2^14, 2^15), 2^126 at most, and its inverse.
 * Any power will do where it is not finite. */
struct split_scale {
    float by, undo;
    __device__ explicit split_scale(float most) {
        const int exponent = max(__float_as_int(most) >> 23, 15);
        by = __int_as_float((268 - exponent) << 23);
        undo = __int_as_float((exponent - 14) << 23);
    }
};

/* Two neighbours, a in the low half of each word. */
struct fp16_parts {
    unsigned hi, lo;
};
__device__ inline unsigned word_of(__half2 v) { return *(const unsigned *)&v; }
__device__ inline fp16_parts split_fp16(float a, float b, float scale) {
    const __half2 hi = __floats2half2_rn(a * scale, b * scale);
    const float2 back = __half22float2(hi);
    return {word_of(hi), word_of(__floats2half2_rn(fmaf(a, scale, -back.x), fmaf(b, scale, -back.y)))};
}
/* The same without a scale, lo times 2^17. For |v| < 2^10 the loss is 2^-23 |v| or, below 2^-19, 2^-42; beyond, lo
 * overflows. */
constexpr float UNSCALED_LO = 0x1p17f;
__device__ inline fp16_parts split_fp16_unscaled(float a, float b) {
    const __half2 hi = __floats2half2_rn(a, b);
    const float2 back = __half22float2(hi);
    return {word_of(hi), word_of(__floats2half2_rn((a - back.x) * UNSCALED_LO, (b - back.y) * UNSCALED_LO))};
}

}  // namespace ridge

#endif
