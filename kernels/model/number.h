/* The bits of an fp32 number, and its bf16: what products and quantizers round by, one number at a time. Of C and CUDA. */
#ifndef RIDGE_KERNELS_MODEL_NUMBER_H
#define RIDGE_KERNELS_MODEL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define RULE_INLINE __host__ __device__ static inline
#else
#define RULE_INLINE static inline
#endif

RULE_INLINE uint32_t rule_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
RULE_INLINE float rule_float(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
RULE_INLINE bool rule_is_odd(float v) { return (rule_bits(v) & 0x7f800000u) == 0x7f800000u; }

/* bf16, to nearest even; NaN stays NaN. */
RULE_INLINE uint16_t rule_bf16(float v) {
    const uint32_t bits = rule_bits(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#endif
