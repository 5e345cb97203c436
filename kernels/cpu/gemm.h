/* Register tiles for fp32 matrix products, one family for every target that multiplies matrices.
 *
 * A tile is mr x nr accumulators in registers, updated by one depth step at a time:
 *
 *     c[i, j] (+)= sum over d of a[d * a_step + i] * b[d * GEMM_NR + j]        i < mr, j < nr
 *
 * b is a vector panel, [depth][GEMM_NR], read with full vector loads; a is a broadcast panel: mr scalars per depth
 * step, each broadcast to a vector. The caller chooses which matrix becomes which panel: with few columns it puts the
 * rows into vectors, so that no lane is wasted.
 *
 * Each function is compiled once per instruction set (RIDGE_ISA_FN). Source of the scheme: Goto and van de Geijn,
 * "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008. */
#ifndef RIDGE_CPU_GEMM_H
#define RIDGE_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/vec.h"
#include "ridge/target.h"

/* GEMM_MR x GEMM_NR accumulators, two vectors of b and one broadcast fill the register file. A vector panel and a
 * broadcast panel of GEMM_KC depth steps stay in L2 between two uses. */
#if defined(RIDGE_ISA_IS_avx512)
enum { GEMM_MR = 14, GEMM_KC = 1024 };
#elif defined(RIDGE_ISA_IS_avx2)
enum { GEMM_MR = 6, GEMM_KC = 384 };
#elif defined(RIDGE_ISA_IS_neon)
enum { GEMM_MR = 12, GEMM_KC = 384 };
#else
enum { GEMM_MR = 4, GEMM_KC = 384 };
#endif
enum { GEMM_NR = 2 * VF_LANES };

/* c += a b. On x86 the accumulator stays in its register: compilers tend to rename it, to run out of registers, and to
 * spill, which makes a store and a load part of its chain of additions. */
VF_INLINE void gemm_fma(vf a, vf b, vf *c) {
#if defined(RIDGE_ISA_IS_avx2)
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*c) : "x"(a), "x"(b));
#elif defined(RIDGE_ISA_IS_avx512)
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*c) : "v"(a), "v"(b));
#else
    *c = vf_fma(a, b, *c);
#endif
}

/* Floats that packing may write past the end of a panel of [depth][mr]. */
enum { GEMM_SLACK = 16 };

/* Initial value of the accumulators. */
typedef enum gemm_start { GEMM_START_ZERO, GEMM_START_BIAS, GEMM_START_ADD } gemm_start; /* 0, bias[i], c[i, j] */

/* Data to prefetch into L2 for the tiles that follow. Every GEMM_AHEAD_STEPS depth steps the tile prefetches one line
 * (16 floats) of each of `rows` rows. After `lines` lines it continues with the next `rows` rows. rows == 0: no
 * prefetch. */
enum { GEMM_AHEAD_STEPS = 4, GEMM_LINE = 16 };
typedef struct gemm_ahead {
    const float *from;
    int64_t stride, lines;
    int rows;
} gemm_ahead;

/* A transposition interleaved with the products: panel[d * GEMM_NR + i] = src[i * stride + d] for GEMM_NR rows. Its
 * shuffles and loads use ports that multiply-adds leave idle. The depth is truncated to whole lines. Units run in
 * order; each also prefetches the data of a later unit. */
typedef struct gemm_beside {
    const float *src;
    int64_t stride, lines; /* lines of GEMM_LINE floats along each row */
    float *panel;
    int64_t unit, units; /* next unit, number of units; a unit is GEMM_LINE depth steps of eight rows */
    int64_t pace, wait;  /* rounds of GEMM_AHEAD_STEPS depth steps per unit; rounds until the next unit */
} gemm_beside;

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)
enum { GEMM_HAS_BESIDE = 1 };
#else
enum { GEMM_HAS_BESIDE = 0 };
#endif

/* Runs the remaining units. */
void RIDGE_ISA_FN(gemm_beside_finish)(gemm_beside *beside);

typedef struct gemm_tile_args {
    int mr; /* 1 … GEMM_MR */
    int nr; /* 1 … GEMM_NR: columns of c; b always has GEMM_NR */
    int64_t depth;
    const float *a;
    int64_t a_step; /* floats from one depth step of a to the next; mr when packed */
    const float *b; /* [depth][GEMM_NR] */
    float *c;
    int64_t c_stride; /* floats from row i of c to the next */
    gemm_start start;
    const float *bias; /* [mr], for GEMM_START_BIAS */
    gemm_ahead ahead;
    gemm_beside
        *beside; /* NULL, or a transposition to interleave; then mr <= GEMM_MR - 1, which leaves registers for it */
} gemm_tile_args;

void RIDGE_ISA_FN(gemm_tile)(const gemm_tile_args *t);

/* Packs a panel from a matrix with one row per depth step: panel[d * step + i] = src[d * stride + i] for i < n; zero
 * for n <= i < step. Writes up to GEMM_SLACK floats past the end. */
void RIDGE_ISA_FN(gemm_pack_straight)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel);

/* Packs a panel from a matrix whose rows run along the depth: panel[d * step + i] = src[i * stride + d] for i < n;
 * entries n <= i < step are unspecified. Writes up to GEMM_SLACK floats past the end. */
void RIDGE_ISA_FN(gemm_pack_transposed)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel);

/* Unpacks: dst[i * stride + d] = panel[d * step + i] * scale[i] for i < n <= step and d < depth. */
void RIDGE_ISA_FN(gemm_unpack_transposed)(const float *panel, int step, int64_t depth, int n, const float *scale,
                                          float *dst, int64_t stride);

/* Part p of n items in `parts` parts; sizes differ by at most one. */
static inline int64_t gemm_cut(int64_t n, int64_t parts, int64_t p) {
    int64_t size = n / parts, longer = n % parts;
    return p * size + (p < longer ? p : longer);
}

#endif
