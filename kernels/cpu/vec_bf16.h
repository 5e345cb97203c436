/* Products of bf16 summed in fp32. A 32-bit lane of a vi has a pair: an element in its lower half, the next one along K in
 * its upper half.
 *
 *   vf_add_pairs(a, b, c)         c += the products of the lower and of the upper elements, by vdpbf16ps. It needs
 *                                 AVX512-BF16, treats subnormal operands as 0 and flushes subnormal sums to 0.
 *   vf_narrow_store(p, a, b)      the lanes of a, then those of b, rounded to bf16; likewise
 *   vf_lower_bf16 vf_upper_bf16   one element of each pair, widened: exact */
#ifndef RIDGE_KERNELS_CPU_VEC_BF16_H
#define RIDGE_KERNELS_CPU_VEC_BF16_H

#include "cpu/vec_int8.h"

VF_INLINE vf vf_lower_bf16(vi pairs) { return vi_float(vi_shl(pairs, 16)); }
VF_INLINE vf vf_upper_bf16(vi pairs) { return vi_float(vi_and(pairs, vi_set1(0xffff0000u))); }

#if defined(RIDGE_ISA_IS_avx512)
enum { VF_HAS_PAIRS = 1 };
/* Inline assembly, because the compiled instruction set does not include it. */
VF_INLINE void vf_add_pairs(vi a, vi b, vf *c) { __asm__("vdpbf16ps %2, %1, %0" : "+v"(*c) : "v"(a), "v"(b)); }
VF_INLINE void vf_narrow_store(uint16_t *p, vf a, vf b) {
    vi both;
    __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(both) : "v"(b), "v"(a));
    _mm512_storeu_si512(p, both);
}
#else
enum { VF_HAS_PAIRS = 0 };
VF_INLINE void vf_add_pairs(vi a, vi b, vf *c) { (void)a, (void)b, (void)c; }
VF_INLINE void vf_narrow_store(uint16_t *p, vf a, vf b) { (void)p, (void)a, (void)b; }
#endif

#endif
