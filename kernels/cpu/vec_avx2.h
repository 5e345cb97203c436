/* vec.h for AVX2 and FMA: vectors of 8 lanes. */
#ifndef RIDGE_KERNELS_CPU_VEC_AVX2_H
#define RIDGE_KERNELS_CPU_VEC_AVX2_H

#include <immintrin.h>

#define VF_LANES 8
typedef __m256 vf;
typedef __m256 vm; /* all ones or all zeros in each lane */
typedef __m256i vi;
typedef struct vf2 {
    vf a, b;
} vf2;

VF_INLINE __m256i vm_first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

VF_INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
VF_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
VF_INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
VF_INLINE void vf_stream(float *p, vf v) { _mm256_stream_ps(p, v); }
VF_INLINE vf vf_load_n(const float *p, int n) { return _mm256_maskload_ps(p, vm_first(n)); }
/* In parts: on AMD a masked store takes more than ten times as long as an ordinary one. */
VF_INLINE void vf_store_n(float *p, int n, vf v) {
    __m128 part = _mm256_castps256_ps128(v);
    if (n & 8) {
        _mm256_storeu_ps(p, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
}
VF_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
VF_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
VF_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
VF_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
VF_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
VF_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
VF_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
VF_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
VF_INLINE vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }
VF_INLINE vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
VF_INLINE vm vf_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VF_INLINE vm vf_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
VF_INLINE vm vf_isnan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
VF_INLINE bool vm_any(vm m) { return _mm256_movemask_ps(m) != 0; }
VF_INLINE bool vm_all(vm m) { return _mm256_movemask_ps(m) == 0xff; }
VF_INLINE vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
VF_INLINE vf vf_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

VF_INLINE float vf_sum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
VF_INLINE float vf_hmax(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

VF_INLINE vi vf_bits(vf a) { return _mm256_castps_si256(a); }
VF_INLINE vf vi_float(vi a) { return _mm256_castsi256_ps(a); }
VF_INLINE vi vi_set1(uint32_t x) { return _mm256_set1_epi32((int)x); }
VF_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
VF_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
VF_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
VF_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
VF_INLINE vi vi_shl(vi a, int n) { return _mm256_slli_epi32(a, n); }
VF_INLINE vi vi_shr(vi a, int n) { return _mm256_srli_epi32(a, n); }

/* Two factors, both powers of two: the first never leaves the normal range, so only the second can round. */
VF_INLINE vf vf_scale2(vf x, vf n) {
    vi whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = vi_set1(127);
    vf first = vi_float(vi_shl(vi_add(half, bias), 23));
    vf second = vi_float(vi_shl(vi_add(_mm256_sub_epi32(whole, half), bias), 23));
    return vf_mul(vf_mul(x, first), second);
}

/* Rounds to bf16 in the upper 16 bits of each lane; the lower 16 bits are unspecified. NaN becomes quiet and is not
 * rounded. */
VF_INLINE vi vf_round_bf16(vf v) {
    vi bits = vf_bits(v), odd = vi_and(vi_shr(bits, 16), vi_set1(1));
    vi rounded = vi_add(bits, vi_add(odd, vi_set1(0x7fff)));
    return vf_bits(vf_select(vf_isnan(v), vi_float(vi_or(bits, vi_set1(0x400000))), vi_float(rounded)));
}
VF_INLINE vi vf2_narrow_bf16(vf2 v) {
    return _mm256_blend_epi16(vi_shr(vf_round_bf16(v.a), 16), vf_round_bf16(v.b), 0xaa);
}
VF_INLINE vf2 vf2_load_bf16(const uint16_t *p) {
    vi both = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (vf2){vi_float(vi_shl(both, 16)), vi_float(vi_and(both, vi_set1(0xffff0000u)))};
}
VF_INLINE void vf2_store_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    _mm256_storeu_si256((__m256i *)(void *)p, vf2_narrow_bf16(v));
}
VF_INLINE void vf2_stream_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    _mm256_stream_si256((__m256i *)(void *)p, vf2_narrow_bf16(v));
}

VF_INLINE bool vf_has_bf16(void) { return false; }
VF_INLINE void vf_fence(void) { _mm_sfence(); }

#endif
