/* Codes of few bits, one in each 32-bit lane, to bytes and halves of bytes in the order of elements.
 *
 *   vf2_store_bytes(p, a, b, type)     VF2_LANES codes of 8 bits, VF2_LANES bytes
 *   vf2_store_nibbles(p, a, b, type)   VF2_LANES codes of 4 bits, VF_LANES bytes, the first code in the low half
 *
 * a and b are codes of a vf2 that was loaded from `type`: codes of even and of odd elements, or of neighbouring vectors
 * (see vec.h). */
#ifndef RIDGE_KERNELS_CPU_VEC_NARROW_H
#define RIDGE_KERNELS_CPU_VEC_NARROW_H

#include "cpu/vec.h"

#if defined(RIDGE_ISA_IS_avx512)

VF_INLINE void vf2_store_bytes(unsigned char *p, vi a, vi b, vf_type type) {
    if (is_bf16(type)) {
        _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(vi_or(a, vi_shl(b, 8))));
    } else {
        _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(a));
        _mm_storeu_si128((__m128i *)(p + VF_LANES), _mm512_cvtepi32_epi8(b));
    }
}
/* Pairs of neighbouring lanes, each in the low byte of 64 bits. */
VF_INLINE __m128i vi_neighbours(vi a) { return _mm512_cvtepi64_epi8(vi_or(a, _mm512_srli_epi64(a, 28))); }
VF_INLINE void vf2_store_nibbles(unsigned char *p, vi a, vi b, vf_type type) {
    if (is_bf16(type))
        _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(vi_or(a, vi_shl(b, 4))));
    else
        _mm_storeu_si128((__m128i *)p, _mm_unpacklo_epi64(vi_neighbours(a), vi_neighbours(b)));
}

#elif defined(RIDGE_ISA_IS_avx2)

/* Even and odd elements of two neighbouring vectors. */
VF_INLINE vi vi_even(vi a, vi b) {
    const vf even = _mm256_shuffle_ps(vi_float(a), vi_float(b), 0x88);
    return _mm256_permute4x64_epi64(vf_bits(even), 0xd8);
}
VF_INLINE vi vi_odd(vi a, vi b) {
    const vf odd = _mm256_shuffle_ps(vi_float(a), vi_float(b), 0xdd);
    return _mm256_permute4x64_epi64(vf_bits(odd), 0xd8);
}
VF_INLINE __m128i vi_to_16(vi a) {
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(a, a), 0x08));
}
VF_INLINE void vf2_store_bytes(unsigned char *p, vi a, vi b, vf_type type) {
    const vi even = is_bf16(type) ? a : vi_even(a, b), odd = is_bf16(type) ? b : vi_odd(a, b);
    _mm_storeu_si128((__m128i *)p, vi_to_16(vi_or(even, vi_shl(odd, 8))));
}
VF_INLINE void vf2_store_nibbles(unsigned char *p, vi a, vi b, vf_type type) {
    const vi even = is_bf16(type) ? a : vi_even(a, b), odd = is_bf16(type) ? b : vi_odd(a, b);
    const __m128i words = vi_to_16(vi_or(even, vi_shl(odd, 4)));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

#elif defined(RIDGE_ISA_IS_neon)

VF_INLINE void vf2_store_bytes(unsigned char *p, vi a, vi b, vf_type type) {
    const vi even = is_bf16(type) ? a : vuzp1q_u32(a, b), odd = is_bf16(type) ? b : vuzp2q_u32(a, b);
    vst1_u8(p, vreinterpret_u8_u16(vmovn_u32(vi_or(even, vi_shl(odd, 8)))));
}
VF_INLINE void vf2_store_nibbles(unsigned char *p, vi a, vi b, vf_type type) {
    const vi even = is_bf16(type) ? a : vuzp1q_u32(a, b), odd = is_bf16(type) ? b : vuzp2q_u32(a, b);
    const uint16x4_t words = vmovn_u32(vi_or(even, vi_shl(odd, 4)));
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
    memcpy(p, &bytes, sizeof bytes);
}

#else

VF_INLINE void vf2_store_bytes(unsigned char *p, vi a, vi b, vf_type type) {
    (void)type;
    p[0] = (unsigned char)a, p[1] = (unsigned char)b;
}
VF_INLINE void vf2_store_nibbles(unsigned char *p, vi a, vi b, vf_type type) {
    (void)type;
    p[0] = (unsigned char)(a | b << 4);
}

#endif

/* e4m3 of finite numbers, as rule_e4m3 of quantize/rule.h has it. */
VF_INLINE vi vf_e4m3(vf v) {
    const vf m = vf_min(vf_set1(448.0f), vf_abs(v));
    const vi bits = vf_bits(m), last = vi_and(vi_shr(bits, 20), vi_set1(1));
    const vi normal = vi_shr(vi_add(vi_add(bits, vi_set1(0x7ffffu - (120u << 23))), last), 20);
    const vi small = vi_add(vf_bits(vf_add(m, vf_set1(0x1p14f))), vi_set1(0u - 0x46800000u));
    const vi code = vf_bits(vf_select(vf_lt(m, vf_set1(0x1p-6f)), vi_float(small), vi_float(normal)));
    return vi_or(code, vi_and(vi_shr(vf_bits(v), 24), vi_set1(0x80)));
}
/* e5m2, as rule_e5m2 of quantize/mx_rule.h. */
VF_INLINE vi vf_e5m2(vf v) {
    const vf m = vf_min(vf_set1(57344.0f), vf_abs(v));
    const vi bits = vf_bits(m), last = vi_and(vi_shr(bits, 21), vi_set1(1));
    const vi normal = vi_shr(vi_add(vi_add(bits, vi_set1(0xfffffu - (112u << 23))), last), 21);
    const vi small = vi_add(vf_bits(vf_add(m, vf_set1(0x1p7f))), vi_set1(0u - 0x43000000u));
    const vi code = vf_bits(vf_select(vf_lt(m, vf_set1(0x1p-14f)), vi_float(small), vi_float(normal)));
    return vi_or(code, vi_and(vi_shr(vf_bits(v), 24), vi_set1(0x80)));
}
/* e2m1, as rule_e2m1. */
VF_INLINE vi vf_e2m1(vf v) {
    const vf m = vf_min(vf_set1(6.0f), vf_abs(v));
    const vi bits = vf_bits(m), last = vi_and(vi_shr(bits, 22), vi_set1(1));
    const vi normal = vi_shr(vi_add(vi_add(bits, vi_set1(0x1fffffu - (126u << 23))), last), 22);
    const vi small = vi_add(vf_bits(vf_add(m, vf_set1(0x1p22f))), vi_set1(0u - 0x4a800000u));
    const vi code = vf_bits(vf_select(vf_lt(m, vf_set1(1.0f)), vi_float(small), vi_float(normal)));
    return vi_or(code, vi_and(vi_shr(vf_bits(v), 28), vi_set1(8)));
}

#endif
