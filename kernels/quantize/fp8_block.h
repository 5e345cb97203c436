/* Rows of a block of fp8: its maximum, its codes, and the same one number at a time for baselines. */
#ifndef RIDGE_KERNELS_QUANTIZE_FP8_BLOCK_H
#define RIDGE_KERNELS_QUANTIZE_FP8_BLOCK_H

#include "cpu/vec_narrow.h"
#include "cpu/vec_widen.h"
#include "quantize/line.h"
#include "quantize/rule.h"

/* The largest magnitude of n values; NaN: one of them is not finite. */
VF_INLINE float fp8_largest(const void *x, int64_t n, vf_type type) {
    vf2 most = {vf_zero(), vf_zero()}, odd = most;
    for (int64_t j = 0; j < n; j += VF2_LANES) {
        const vf2 v = row_load(x, j, n - j < VF2_LANES ? n - j : VF2_LANES, type);
        most = (vf2){vf_max(most.a, vf_abs(v.a)), vf_max(most.b, vf_abs(v.b))};
        odd = (vf2){vf_fma(v.a, vf_zero(), odd.a),
                    vf_fma(v.b, vf_zero(), odd.b)}; /* NaN times zero, infinity times zero */
    }
    if (vm_any(vf_isnan(vf_add(odd.a, odd.b)))) return __builtin_nanf("");
    return vf_hmax(vf_max(most.a, most.b));
}

VF_INLINE void fp8_codes(const void *x, int64_t n, float factor, unsigned char *q, vf_type type) {
    const vf by = vf_set1(factor);
    int64_t j = 0;
    for (; j + VF2_LANES <= n; j += VF2_LANES) {
        const vf2 v = row_load(x, j, VF2_LANES, type);
        vf2_store_bytes(q + j, vf_e4m3(vf_mul(v.a, by)), vf_e4m3(vf_mul(v.b, by)), type);
    }
    if (j == n) return;
    unsigned char part[VF2_LANES];
    const vf2 v = row_load(x, j, n - j, type);
    vf2_store_bytes(part, vf_e4m3(vf_mul(v.a, by)), vf_e4m3(vf_mul(v.b, by)), type);
    memcpy(q + j, part, (size_t)(n - j));
}

/* What n codes of e4m3 stand for, times a scale. */
VF_INLINE void fp8_values(const unsigned char *q, int64_t n, float scale, float *x) {
    const vf by = vf_set1(scale);
    int64_t j = 0;
    for (; j + VF_LANES <= n; j += VF_LANES) vf_store(x + j, vf_mul(vf_of_e4m3(vi_load_bytes(q + j)), by));
    if (VF_LANES == 1 || j >= n) return;
    unsigned char part[VF_LANES] = {0};
    memcpy(part, q + j, (size_t)(n - j));
    vf_store_n(x + j, (int)(n - j), vf_mul(vf_of_e4m3(vi_load_bytes(part)), by));
}

/* The largest magnitude, one number at a time; NaN: one is not finite. */
VF_INLINE float fp8_plain_largest(const void *x, int64_t n, vf_type type) {
    float max = 0;
    bool odd = false;
    for (int64_t j = 0; j < n; j++) {
        const float v = quantize_element(x, j, type), magnitude = rule_float(rule_bits(v) & 0x7fffffffu);
        odd |= rule_is_odd(v);
        max = magnitude > max ? magnitude : max;
    }
    return odd ? __builtin_nanf("") : max;
}

#endif
