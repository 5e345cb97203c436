/* The rules of OCP's MX formats, one number at a time. A block's scale is a power of two in ue8m0: floor(log2(a)) less the
 * exponent of the element type's largest value, a the largest magnitude of the block. A product with a power of two is
 * exact, so only the rounding to the element type loses bits. */
#ifndef RIDGE_KERNELS_QUANTIZE_MX_RULE_H
#define RIDGE_KERNELS_QUANTIZE_MX_RULE_H

#include "quantize/rule.h"
#include "ridge/tensor.h"

enum { MX_BLOCK = 32, MX_NAN = 0xff };

/* e5m2 of a finite number: to nearest even, at most 57344. Below 2^-14 values are multiples of 2^-16, the last places of
 * numbers from 2^7 to 2^8. */
RULE_INLINE unsigned rule_e5m2(float v) {
    const float magnitude = rule_float(rule_bits(v) & 0x7fffffffu), m = magnitude < 57344.0f ? magnitude : 57344.0f;
    const uint32_t bits = rule_bits(m), normal = (bits - (112u << 23) + 0xfffffu + (bits >> 21 & 1)) >> 21;
    const uint32_t small = rule_bits(m + 0x1p7f) - rule_bits(0x1p7f);
    return (m < 0x1p-14f ? small : normal) | (rule_bits(v) >> 24 & 0x80u);
}

RULE_INLINE unsigned rule_mx_code(ridge_dtype element, float v) {
    if (element == RIDGE_E2M1) return rule_e2m1(v);
    return element == RIDGE_E5M2 ? rule_e5m2(v) : rule_e4m3(v);
}

/* The exponent of the largest value: 6 = 1.5 2^2, 448 = 1.75 2^8, 57344 = 1.75 2^15. */
RULE_INLINE unsigned rule_mx_top(ridge_dtype element) {
    if (element == RIDGE_E2M1) return 2;
    return element == RIDGE_E5M2 ? 15 : 8;
}

/* The code of a block's scale, of the bits of its largest magnitude: the biased exponent of fp32 is that of ue8m0. Subnormal
 * maxima have the exponent 0, so their scale is the least one, as that of zeros. An infinity or NaN makes it NaN. */
RULE_INLINE unsigned rule_mx_scale(ridge_dtype element, uint32_t max_bits) {
    const unsigned exponent = max_bits >> 23, top = rule_mx_top(element);
    if (exponent >= 255) return MX_NAN;
    return exponent > top ? exponent - top : 0;
}

/* The inverse of a scale; zero for NaN. No scale of fp32 numbers is above 2^125, so it is a normal number. */
RULE_INLINE float rule_mx_factor(unsigned code) { return rule_float((code < 254 ? 254 - code : 0) << 23); }

#endif
