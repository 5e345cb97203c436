/* vec.h in plain C: vectors of one lane. For CPUs without another instruction set, and as a reference in tests. */
#ifndef RIDGE_KERNELS_CPU_VEC_SCALAR_H
#define RIDGE_KERNELS_CPU_VEC_SCALAR_H

#include <math.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define VF_LANES 1
typedef float vf;
typedef bool vm;
typedef uint32_t vi;
typedef struct vf2 {
    vf a, b;
} vf2;

VF_INLINE vf vf_set1(float x) { return x; }
VF_INLINE vf vf_load(const float *p) { return *p; }
VF_INLINE void vf_store(float *p, vf v) { *p = v; }
VF_INLINE vf vf_load_n(const float *p, int n) { return n > 0 ? *p : 0.0f; }
VF_INLINE void vf_store_n(float *p, int n, vf v) {
    if (n > 0) *p = v;
}
VF_INLINE vf vf_add(vf a, vf b) { return a + b; }
VF_INLINE vf vf_sub(vf a, vf b) { return a - b; }
VF_INLINE vf vf_mul(vf a, vf b) { return a * b; }
VF_INLINE vf vf_div(vf a, vf b) { return a / b; }
VF_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
VF_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
VF_INLINE vf vf_max(vf a, vf b) { return a > b ? a : b; }
VF_INLINE vf vf_min(vf a, vf b) { return a < b ? a : b; }
VF_INLINE vf vf_sqrt(vf a) { return sqrtf(a); }
VF_INLINE vf vf_abs(vf a) { return fabsf(a); }
VF_INLINE vm vf_lt(vf a, vf b) { return a < b; }
VF_INLINE vm vf_eq(vf a, vf b) { return a == b; }
VF_INLINE vm vf_isnan(vf a) { return a != a; }
VF_INLINE bool vm_any(vm m) { return m; }
VF_INLINE bool vm_all(vm m) { return m; }
VF_INLINE vf vf_select(vm m, vf a, vf b) { return m ? a : b; }
VF_INLINE vf vf_round(vf a) { return rintf(a); }
VF_INLINE float vf_sum(vf a) { return a; }
VF_INLINE float vf_hmax(vf a) { return a; }

VF_INLINE vi vf_bits(vf a) {
    vi b;
    memcpy(&b, &a, sizeof b);
    return b;
}
VF_INLINE vf vi_float(vi a) {
    vf f;
    memcpy(&f, &a, sizeof f);
    return f;
}
VF_INLINE vi vi_set1(uint32_t x) { return x; }
VF_INLINE vi vi_add(vi a, vi b) { return a + b; }
VF_INLINE vi vi_and(vi a, vi b) { return a & b; }
VF_INLINE vi vi_or(vi a, vi b) { return a | b; }
VF_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
VF_INLINE vi vi_shl(vi a, int n) { return a << n; }
VF_INLINE vi vi_shr(vi a, int n) { return a >> n; }

/* Two factors, both powers of two: the first never leaves the normal range, so only the second can round. */
VF_INLINE vf vf_scale2(vf x, vf n) {
    /* An infinity becomes what the conversion instruction makes of it; in C it has no value. */
    const int32_t odd = n == n ? INT32_MIN : 0;
    int32_t whole = n >= -0x1p31f && n < 0x1p31f ? (int32_t)n : odd, half = whole >> 1;
    return x * vi_float((uint32_t)(half + 127) << 23) * vi_float((uint32_t)(whole - half + 127) << 23);
}

VF_INLINE uint16_t vf_narrow_bf16(vf v) {
    uint32_t b = vf_bits(v);
    return (uint16_t)((v != v ? b | 0x400000u : b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
VF_INLINE vf2 vf2_load_bf16(const uint16_t *p) {
    return (vf2){vi_float((uint32_t)p[0] << 16), vi_float((uint32_t)p[1] << 16)};
}
VF_INLINE void vf2_store_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    p[0] = vf_narrow_bf16(v.a);
    p[1] = vf_narrow_bf16(v.b);
}

VF_INLINE bool vf_has_bf16(void) { return false; }

#if defined(__SSE2__)
VF_INLINE void vf_stream(float *p, vf v) {
    int bits;
    memcpy(&bits, &v, sizeof bits);
    _mm_stream_si32((int *)(void *)p, bits);
}
VF_INLINE void vf2_stream_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    _mm_stream_si32((int *)(void *)p, (int)((uint32_t)vf_narrow_bf16(v.b) << 16 | vf_narrow_bf16(v.a)));
}
VF_INLINE void vf_fence(void) { _mm_sfence(); }
#else
VF_INLINE void vf_stream(float *p, vf v) { *p = v; }
VF_INLINE void vf2_stream_bf16(uint16_t *p, vf2 v, bool native) {
    (void)native;
    vf2_store_bf16(p, v, native);
}
VF_INLINE void vf_fence(void) {}
#endif

#endif
