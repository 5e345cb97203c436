/* The rules of the quantizers, one number at a time: what every kernel computes, bit for bit. All steps are in fp32, each
 * rounded to nearest even; the README of each target states them. */
#ifndef RIDGE_KERNELS_QUANTIZE_RULE_H
#define RIDGE_KERNELS_QUANTIZE_RULE_H

#include "model/number.h"

enum { RULE_E4M3_NAN = 0x7f };

/* e4m3 of a finite number: to nearest even, at most 448. Below 2^-6 values are multiples of 2^-9, which are the last
 * places of numbers from 2^14 to 2^15. */
RULE_INLINE unsigned rule_e4m3(float v) {
    const float magnitude = rule_float(rule_bits(v) & 0x7fffffffu), m = magnitude < 448.0f ? magnitude : 448.0f;
    const uint32_t bits = rule_bits(m), normal = (bits - (120u << 23) + 0x7ffffu + (bits >> 20 & 1)) >> 20;
    const uint32_t small = rule_bits(m + 0x1p14f) - rule_bits(0x1p14f);
    return (m < 0x1p-6f ? small : normal) | (rule_bits(v) >> 24 & 0x80u);
}

/* The value of a code; rule_of_e4m3: of one below NaN's, without its sign. */
RULE_INLINE float rule_of_e4m3(unsigned code) { return rule_float((code & 0x7fu) << 20) * 0x1p120f; }
RULE_INLINE float rule_value_e4m3(unsigned code) {
    const float magnitude = (code & 0x7fu) == RULE_E4M3_NAN ? rule_float(0x7fffffffu) : rule_of_e4m3(code);
    return code & 0x80u ? -magnitude : magnitude;
}

/* e2m1, at most 6. Below 1 values are multiples of 1/2, the last places of numbers from 2^22 to 2^23. */
RULE_INLINE unsigned rule_e2m1(float v) {
    const float magnitude = rule_float(rule_bits(v) & 0x7fffffffu), m = magnitude < 6.0f ? magnitude : 6.0f;
    const uint32_t bits = rule_bits(m), normal = (bits - (126u << 23) + 0x1fffffu + (bits >> 22 & 1)) >> 22;
    const uint32_t small = rule_bits(m + 0x1p22f) - rule_bits(0x1p22f);
    return (m < 1.0f ? small : normal) | (rule_bits(v) >> 28 & 8u);
}

/* The value of a code, and that of a scale's, of which none has a sign. */
RULE_INLINE float rule_value_e2m1(unsigned code) {
    const float magnitude = rule_float((code & 7u) << 22) * 0x1p126f;
    return code & 8u ? -magnitude : magnitude;
}
RULE_INLINE float rule_value_ue4m3(unsigned code) {
    return code >= RULE_E4M3_NAN ? rule_float(0x7fffffffu) : rule_of_e4m3(code);
}

/* ---- e4m3 with an fp32 scale for each block ---- */

/* A block whose values are all smaller counts as one of such values, so that neither factor leaves fp32's range. */
#define RULE_FP8_LEAST 0x1p-100f

/* max: the largest magnitude of a block. */
RULE_INLINE float rule_fp8_scale(float max) { return (max > RULE_FP8_LEAST ? max : RULE_FP8_LEAST) / 448.0f; }
RULE_INLINE float rule_fp8_factor(float max) { return 448.0f / (max > RULE_FP8_LEAST ? max : RULE_FP8_LEAST); }

/* ---- NVFP4: e2m1 with a scale of ue4m3 for each block and one of fp32 for the tensor ---- */

#define RULE_NVFP4_LEAST 0x1p-100f /* of the tensor's scale; a smaller one is that of a tensor of zeros */

typedef struct rule_nvfp4 {
    float tensor;  /* the tensor's scale */
    float inverse; /* of six times it */
    bool usable;   /* finite, and not below the least */
} rule_nvfp4;

RULE_INLINE rule_nvfp4 rule_nvfp4_of(float tensor) {
    rule_nvfp4 rule;
    rule.tensor = tensor;
    rule.usable = tensor >= RULE_NVFP4_LEAST && !rule_is_odd(tensor);
    rule.inverse = rule.usable ? 1.0f / (6.0f * tensor) : 0.0f;
    return rule;
}

/* The code of a block's scale. Zeros need none; what cannot be scaled is NaN. */
RULE_INLINE unsigned rule_nvfp4_scale(rule_nvfp4 rule, float max, bool odd) {
    if (odd || (!rule.usable && (max > 0 || !(rule.tensor >= 0) || rule_is_odd(rule.tensor)))) return RULE_E4M3_NAN;
    const float scale = max * rule.inverse;
    return rule_e4m3(scale < 448.0f ? scale : 448.0f);
}

/* What elements are multiplied by before they are rounded: zero where the block's scale is zero or NaN. */
RULE_INLINE float rule_nvfp4_factor(rule_nvfp4 rule, unsigned code) {
    if (code == 0 || code == RULE_E4M3_NAN) return 0.0f;
    return 1.0f / (rule_of_e4m3(code) * rule.tensor);
}

#endif
