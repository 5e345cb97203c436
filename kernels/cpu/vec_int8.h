/* Exact products of 8-bit integers, summed in 32-bit lanes. Operands lie in groups, one in each lane:
 *
 *   words    two integers of 16 bits, in every instruction set
 *   bytes    four of 8 bits, in the AVX-512 set of processors with VNNI: the first factor unsigned, the second signed
 *
 *   vi_add_words(sum, a, b)   sum + the products of a group, modulo 2^32       vi_add_bytes: the same of bytes
 *   vi_load vi_store          unaligned
 *
 * vpmaddubsw, AVX2's product of bytes, saturates: it is not used. */
#ifndef RIDGE_KERNELS_CPU_VEC_INT8_H
#define RIDGE_KERNELS_CPU_VEC_INT8_H

#include "cpu/vec.h"

#if defined(RIDGE_ISA_IS_avx512)

VF_INLINE vi vi_load(const uint32_t *p) { return _mm512_loadu_si512(p); }
VF_INLINE void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
VF_INLINE vi vi_add_words(vi sum, vi a, vi b) { return vi_add(sum, _mm512_madd_epi16(a, b)); }
/* Inline assembly, because the compiled instruction set does not include it. */
VF_INLINE vi vi_add_bytes(vi sum, vi a, vi b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

#elif defined(RIDGE_ISA_IS_avx2)

VF_INLINE vi vi_load(const uint32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
VF_INLINE void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
VF_INLINE vi vi_add_words(vi sum, vi a, vi b) { return vi_add(sum, _mm256_madd_epi16(a, b)); }

#elif defined(RIDGE_ISA_IS_neon)

VF_INLINE vi vi_load(const uint32_t *p) { return vld1q_u32(p); }
VF_INLINE void vi_store(int32_t *p, vi v) { vst1q_s32(p, vreinterpretq_s32_u32(v)); }
VF_INLINE vi vi_add_words(vi sum, vi a, vi b) {
    const int16x8_t x = vreinterpretq_s16_u32(a), y = vreinterpretq_s16_u32(b);
    const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
    return vi_add(sum, vreinterpretq_u32_s32(vpaddq_s32(low, high)));
}

#else

VF_INLINE vi vi_load(const uint32_t *p) { return *p; }
VF_INLINE void vi_store(int32_t *p, vi v) { *p = (int32_t)v; }
VF_INLINE vi vi_add_words(vi sum, vi a, vi b) {
    const int32_t low = (int16_t)a * (int16_t)b, high = (int16_t)(a >> 16) * (int16_t)(b >> 16);
    return sum + (uint32_t)low + (uint32_t)high;
}

#endif
#endif
