/* A float vector of the instruction set that the file is compiled for, and the operations that kernels need.
 *
 *   vf        VF_LANES floats          vm  one truth value a lane          vi  VF_LANES 32-bit integers
 *   vf2       two vf: the unit of kernels that take f32 and bf16 storage alike
 *
 * Each of vec_scalar.h, vec_avx2.h, vec_avx512.h and vec_neon.h defines the same functions:
 *
 *   vf_load vf_store                unaligned
 *   vf_stream                       non-temporal, aligned to the vector; an ordinary store where the set has none
 *   vf_load_n vf_store_n            the first n lanes, 0 <= n <= VF_LANES; touch nothing else; other lanes load as 0
 *   vf_set1 vf_zero vf_add vf_sub vf_mul vf_div vf_sqrt vf_abs
 *   vf_fma(a, b, c) = a*b + c       vf_fnma(a, b, c) = c - a*b          (fused, except in the scalar set)
 *   vf_max vf_min                   when one operand is NaN: the second operand, or NaN. A limit goes first:
 *                                   vf_max(vf_set1(lo), x) keeps the NaN of x in every set.
 *   vf_lt vf_eq vf_isnan -> vm      ordered, quiet       vm_any vm_all
 *   vf_select(m, a, b)              m ? a : b, lane by lane
 *   vf_round                        to the nearest integer, ties to even
 *   vf_scale2(x, n)                 x * 2^n for integral n in [-200, 200], one rounding when it leaves the normal range
 *   vf_sum vf_hmax                  over the lanes
 *   vf_bits vi_float vi_set1 vi_add vi_and vi_or vi_xor vi_shl vi_shr (logical)
 *   vf2_load_bf16 vf2_store_bf16 vf2_stream_bf16   2*VF_LANES bf16 values; see below
 *   vf_fence                        orders streaming stores before what follows: once, at the end of a thread's part
 *
 * vf2 and order. A vf2 loaded from f32 is two neighbouring vectors. Loaded from bf16 it holds the values at even places
 * in .a and at odd places in .b: a shift and a mask then widen 2*VF_LANES values, without a shuffle. Storing undoes it.
 * So code on vf2 must not depend on the order of lanes, and operands of one operation must be loaded from the same
 * type.
 *
 * bf16 is the upper half of an f32: widening is exact, narrowing rounds to nearest even, infinities stay, NaN stays NaN
 * (quiet). */
#ifndef RIDGE_KERNELS_CPU_VEC_H
#define RIDGE_KERNELS_CPU_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VF_INLINE static inline __attribute__((always_inline, unused))

#if defined(RIDGE_ISA_IS_avx512)
#include "cpu/vec_avx512.h"
#elif defined(RIDGE_ISA_IS_avx2)
#include "cpu/vec_avx2.h"
#elif defined(RIDGE_ISA_IS_neon)
#include "cpu/vec_neon.h"
#else
#include "cpu/vec_scalar.h"
#endif

/* Storage type of elements; a constant at every call. VF_BF16_NATIVE narrows with the
 * processor's own instruction where vf_has_bf16() is true. It takes an eighth of the instructions, but flushes values
 * below 2^-126 to 0. */
typedef enum vf_type { VF_F32, VF_BF16, VF_BF16_NATIVE } vf_type;
VF_INLINE bool is_bf16(vf_type type) { return type != VF_F32; }

VF_INLINE vf vf_zero(void) { return vf_set1(0.0f); }

/* Prefetches the line at p, which need not be mapped, into L1 (or L2). */
VF_INLINE void vf_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }
VF_INLINE void vf_prefetch_l2(const void *p) { __builtin_prefetch(p, 0, 2); }

/* ---- two vectors at a time, f32 or bf16 ---- */

enum { VF2_LANES = 2 * VF_LANES };

VF_INLINE vf2 vf2_load_f32(const float *p) { return (vf2){vf_load(p), vf_load(p + VF_LANES)}; }
VF_INLINE void vf2_store_f32(float *p, vf2 v) {
    vf_store(p, v.a);
    vf_store(p + VF_LANES, v.b);
}

/* p points at elements of the type. */
VF_INLINE vf2 vf2_load(const void *p, vf_type type) { return is_bf16(type) ? vf2_load_bf16(p) : vf2_load_f32(p); }
VF_INLINE void vf2_store(void *p, vf2 v, vf_type type) {
    if (is_bf16(type))
        vf2_store_bf16(p, v, type == VF_BF16_NATIVE);
    else
        vf2_store_f32(p, v);
}

/* p aligned to VF2_LANES elements. */
VF_INLINE void vf2_stream(void *p, vf2 v, vf_type type) {
    if (is_bf16(type)) {
        vf2_stream_bf16(p, v, type == VF_BF16_NATIVE);
    } else {
        vf_stream(p, v.a);
        vf_stream((float *)p + VF_LANES, v.b);
    }
}

/* The first n elements, 0 <= n <= VF2_LANES; the others load as 0 and are not stored. For edges; bf16 goes through
 * memory. */
VF_INLINE vf2 vf2_load_n(const void *p, int64_t n, vf_type type) {
    if (is_bf16(type)) {
        uint16_t part[VF2_LANES] = {0};
        memcpy(part, p, (size_t)n * sizeof part[0]);
        return vf2_load_bf16(part);
    }
    int64_t first = n < VF_LANES ? n : VF_LANES;
    return (vf2){vf_load_n(p, (int)first), vf_load_n((const float *)p + first, (int)(n - first))};
}
VF_INLINE void vf2_store_n(void *p, int64_t n, vf2 v, vf_type type) {
    if (is_bf16(type)) {
        uint16_t part[VF2_LANES];
        vf2_store_bf16(part, v, type == VF_BF16_NATIVE);
        memcpy(p, part, (size_t)n * sizeof part[0]);
    } else {
        int64_t first = n < VF_LANES ? n : VF_LANES;
        vf_store_n(p, (int)first, v.a);
        vf_store_n((float *)p + first, (int)(n - first), v.b);
    }
}

#endif
