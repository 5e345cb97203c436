/* Codes of 8 and 4 bits to their values, as quantize/rule.h has them: the inverse of vec_narrow.h.
 *
 *   vi_load_bytes(p)        VF_LANES codes of 8 bits
 *   vi_load_nibbles(p, j)   codes j … j + VF_LANES - 1 of 4 bits, the first of a byte in its low half; j: whole vectors
 *   vf_of_e4m3 vf_of_e2m1   of codes in each lane */
#ifndef RIDGE_KERNELS_CPU_VEC_WIDEN_H
#define RIDGE_KERNELS_CPU_VEC_WIDEN_H

#include "cpu/vec.h"

#if defined(RIDGE_ISA_IS_avx512)

VF_INLINE vi vi_load_bytes(const unsigned char *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* A byte in each 64 bits; its upper half moves to the upper 32. */
VF_INLINE vi vi_load_nibbles(const unsigned char *p, int64_t j) {
    const vi bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + j / 2)));
    return vi_and(vi_or(bytes, _mm512_slli_epi64(bytes, 28)), vi_set1(15));
}

#elif defined(RIDGE_ISA_IS_avx2)

VF_INLINE vi vi_load_bytes(const unsigned char *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
VF_INLINE vi vi_load_nibbles(const unsigned char *p, int64_t j) {
    int four;
    memcpy(&four, p + j / 2, sizeof four);
    const vi bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
    return vi_and(vi_or(bytes, _mm256_slli_epi64(bytes, 28)), vi_set1(15));
}

#elif defined(RIDGE_ISA_IS_neon)

VF_INLINE vi vi_load_bytes(const unsigned char *p) {
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}
VF_INLINE vi vi_load_nibbles(const unsigned char *p, int64_t j) {
    static const int32_t down[4] = {0, -4, -8, -12};
    const vi two = vi_set1(p[j / 2] | (uint32_t)p[j / 2 + 1] << 8);
    return vi_and(vshlq_u32(two, vld1q_s32(down)), vi_set1(15));
}

#else

VF_INLINE vi vi_load_bytes(const unsigned char *p) { return *p; }
VF_INLINE vi vi_load_nibbles(const unsigned char *p, int64_t j) { return (uint32_t)p[j / 2] >> j % 2 * 4 & 15U; }

#endif

/* No operand is a subnormal f32, which costs a processor many cycles: what has the least exponent is made with the next one's, whose
 * 2^-6 is then subtracted. 480 is what NaN's code would stand for. */
VF_INLINE vf vf_of_e4m3(vi code) {
    const vf normal = vi_float(vi_add(vi_shl(vi_and(code, vi_set1(0x7f)), 20), vi_set1(120u << 23)));
    const vf small = vf_fma(normal, vf_set1(2.0f), vf_set1(-0x1p-6f));
    const vf m = vf_select(vf_lt(normal, vf_set1(0x1p-6f)), small, normal);
    const vf value = vf_select(vf_lt(vf_set1(448.0f), m), vf_set1(__builtin_nanf("")), m);
    return vi_float(vi_or(vf_bits(value), vi_shl(vi_and(code, vi_set1(0x80)), 24)));
}

#if defined(RIDGE_ISA_IS_avx512)
VF_INLINE vf vf_of_e2m1(vi code) {
    const vf values = _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
    return _mm512_permutexvar_ps(code, values);
}
#elif defined(RIDGE_ISA_IS_avx2)
VF_INLINE vf vf_of_e2m1(vi code) {
    const vf m = _mm256_permutevar8x32_ps(_mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6), code);
    return vi_float(vi_or(vf_bits(m), vi_shl(vi_and(code, vi_set1(8)), 28)));
}
#else
VF_INLINE vf vf_of_e2m1(vi code) {
    const vf m = vf_mul(vi_float(vi_shl(vi_and(code, vi_set1(7)), 22)), vf_set1(0x1p126f));
    return vi_float(vi_or(vf_bits(m), vi_shl(vi_and(code, vi_set1(8)), 28)));
}
#endif

#endif
