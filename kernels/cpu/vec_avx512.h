/* vec.h for AVX-512 F, BW, DQ and VL: vectors of 16 lanes. */
#ifndef RIDGE_KERNELS_CPU_VEC_AVX512_H
#define RIDGE_KERNELS_CPU_VEC_AVX512_H

#include <cpuid.h>
#include <immintrin.h>

#define VF_LANES 16
typedef __m512 vf;
typedef __mmask16 vm;
typedef __m512i vi;
typedef struct vf2 {
    vf a, b;
} vf2;

VF_INLINE vm vm_first(int n) { return (vm)((1u << n) - 1u); }

VF_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
VF_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
VF_INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
VF_INLINE void vf_stream(float *p, vf v) { _mm512_stream_ps(p, v); }
VF_INLINE vf vf_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(vm_first(n), p); }
VF_INLINE void vf_store_n(float *p, int n, vf v) { _mm512_mask_storeu_ps(p, vm_first(n), v); }
VF_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
VF_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
VF_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VF_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VF_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VF_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
VF_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
VF_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
VF_INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
VF_INLINE vf vf_abs(vf a) { return _mm512_abs_ps(a); }
VF_INLINE vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VF_INLINE vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VF_INLINE vm vf_isnan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
VF_INLINE bool vm_any(vm m) { return m != 0; }
VF_INLINE bool vm_all(vm m) { return m == 0xffff; }
VF_INLINE vf vf_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
VF_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VF_INLINE vf vf_scale2(vf x, vf n) { return _mm512_scalef_ps(x, n); }
VF_INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
VF_INLINE float vf_hmax(vf a) { return _mm512_reduce_max_ps(a); }

VF_INLINE vi vf_bits(vf a) { return _mm512_castps_si512(a); }
VF_INLINE vf vi_float(vi a) { return _mm512_castsi512_ps(a); }
VF_INLINE vi vi_set1(uint32_t x) { return _mm512_set1_epi32((int)x); }
VF_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
VF_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
VF_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
VF_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
#define vi_shl(a, n) _mm512_slli_epi32(a, n) /* the count must be a literal */
#define vi_shr(a, n) _mm512_srli_epi32(a, n)

/* Rounds to bf16 in the upper 16 bits of each lane; the lower 16 bits are unspecified. NaN becomes quiet and is not
 * rounded. */
VF_INLINE vi vf_round_bf16(vf v) {
    vi bits = vf_bits(v), half = vi_set1(0x7fff), one = vi_set1(1), quiet = vi_set1(0x400000);
    vm odd = _mm512_test_epi32_mask(bits, vi_set1(0x10000)), number = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
    vi bias = _mm512_mask_add_epi32(half, odd, half, one);
    return _mm512_mask_add_epi32(vi_or(bits, quiet), number, bits, bias);
}
/* The instruction packs the words of one vector below those of the other; one permutation interleaves them. Inline
 * assembly, because the compiled instruction set does not include it: vf_has_bf16() must be true. */
VF_INLINE vi vf2_narrow_bf16_native(vf2 v) {
    const vi order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                                      20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    vi packed;
    __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(packed) : "v"(v.b), "v"(v.a));
    return _mm512_permutexvar_epi16(order, packed);
}
VF_INLINE vi vf2_narrow_bf16(vf2 v, bool native) {
    if (native) return vf2_narrow_bf16_native(v);
    return _mm512_mask_blend_epi16((__mmask32)0xaaaaaaaau, vi_shr(vf_round_bf16(v.a), 16), vf_round_bf16(v.b));
}
VF_INLINE vf2 vf2_load_bf16(const uint16_t *p) {
    vi both = _mm512_loadu_si512(p);
    return (vf2){vi_float(vi_shl(both, 16)), vi_float(vi_and(both, vi_set1(0xffff0000u)))};
}
VF_INLINE void vf2_store_bf16(uint16_t *p, vf2 v, bool native) { _mm512_storeu_si512(p, vf2_narrow_bf16(v, native)); }
VF_INLINE void vf2_stream_bf16(uint16_t *p, vf2 v, bool native) {
    _mm512_stream_si512((void *)p, vf2_narrow_bf16(v, native));
}

/* Uses cpuid directly: older compilers do not know the feature's name. Leaf 7.1, eax bit 5. */
static inline bool vf_has_bf16(void) {
    static int known; /* 0: unknown, 1: no, 2: yes; concurrent threads find the same */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        answer = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1u) ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
}

VF_INLINE void vf_fence(void) { _mm_sfence(); }

#endif
