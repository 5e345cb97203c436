/* vec.h for AArch64 Advanced SIMD: vectors of 4 lanes.
 *
 * vf_stream is an ordinary store: Arm cores detect runs of full-line writes and stop reading the lines.
 */
#ifndef RIDGE_KERNELS_CPU_VEC_NEON_H
#define RIDGE_KERNELS_CPU_VEC_NEON_H

#include <arm_neon.h>

#define VF_LANES 4
typedef float32x4_t vf;
typedef uint32x4_t vm; /* all ones or all zeros in each lane */
typedef uint32x4_t vi;
typedef struct vf2 {
    vf a, b;
} vf2;

VF_INLINE vf vf_set1(float x) { return vdupq_n_f32(x); }
VF_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
VF_INLINE void vf_store(float *p, vf v) { vst1q_f32(p, v); }
VF_INLINE void vf_stream(float *p, vf v) { vst1q_f32(p, v); }
VF_INLINE vf vf_load_n(const float *p, int n) {
    float part[VF_LANES] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return vf_load(part);
}
VF_INLINE void vf_store_n(float *p, int n, vf v) {
    float part[VF_LANES];
    vf_store(part, v);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}
VF_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
VF_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
VF_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
VF_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
VF_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
VF_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
VF_INLINE vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); }
VF_INLINE vf vf_min(vf a, vf b) { return vminq_f32(a, b); }
VF_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
VF_INLINE vf vf_abs(vf a) { return vabsq_f32(a); }
VF_INLINE vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
VF_INLINE vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
VF_INLINE vm vf_isnan(vf a) { return vmvnq_u32(vceqq_f32(a, a)); }
VF_INLINE bool vm_any(vm m) { return vmaxvq_u32(m) != 0; }
VF_INLINE bool vm_all(vm m) { return vminvq_u32(m) != 0; }
VF_INLINE vf vf_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
VF_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
VF_INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
VF_INLINE float vf_hmax(vf a) { return vmaxvq_f32(a); }

VF_INLINE vi vf_bits(vf a) { return vreinterpretq_u32_f32(a); }
VF_INLINE vf vi_float(vi a) { return vreinterpretq_f32_u32(a); }
VF_INLINE vi vi_set1(uint32_t x) { return vdupq_n_u32(x); }
VF_INLINE vi vi_add(vi a, vi b) { return vaddq_u32(a, b); }
VF_INLINE vi vi_and(vi a, vi b) { return vandq_u32(a, b); }
VF_INLINE vi vi_or(vi a, vi b) { return vorrq_u32(a, b); }
VF_INLINE vi vi_xor(vi a, vi b) { return veorq_u32(a, b); }
#define vi_shl(a, n) vshlq_n_u32(a, n) /* the count must be a literal */
#define vi_shr(a, n) vshrq_n_u32(a, n)

/* Two factors, both powers of two: the first never leaves the normal range, so only the second can round. */
VF_INLINE vf vf_scale2(vf x, vf n) {
    int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
    vf first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
    vf second = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23));
    return vmulq_f32(vmulq_f32(x, first), second);
}

/* Rounds to bf16 in the upper 16 bits of each lane; the lower 16 bits are unspecified. NaN becomes quiet and is not
 * rounded. */
VF_INLINE vi vf_round_bf16(vf v) {
    vi bits = vf_bits(v), odd = vi_and(vi_shr(bits, 16), vi_set1(1));
    vi rounded = vi_add(bits, vi_add(odd, vi_set1(0x7fff)));
    return vbslq_u32(vf_isnan(v), vi_or(bits, vi_set1(0x400000)), rounded);
}
VF_INLINE vf2 vf2_load_bf16(const uint16_t *p) {
    vi both = vreinterpretq_u32_u16(vld1q_u16(p));
    return (vf2){vi_float(vi_shl(both, 16)), vi_float(vi_and(both, vi_set1(0xffff0000u)))};
}
VF_INLINE void vf2_store_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    /* vsri keeps the upper half of the first operand and puts the upper half of the second below it. */
    vst1q_u16(p, vreinterpretq_u16_u32(vsriq_n_u32(vf_round_bf16(v.b), vf_round_bf16(v.a), 16)));
}
VF_INLINE void vf2_stream_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    vf2_store_bf16(p, v, native);
}

VF_INLINE bool vf_has_bf16(void) { return false; }
VF_INLINE void vf_fence(void) {}

#endif
