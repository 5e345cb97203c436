/* Register tiles for fp32 matrix products, one family for every target that multiplies matrices.
 *
 * A tile is mr x nr results held in registers while one depth step after another is added:
 *
 *     c[i, j] (+)= sum over d of a[d * a_step + i] * b[d * GEMM_NR + j]        i < mr, j < nr
 *
 * b is a vector panel, [depth][GEMM_NR], read with full vector loads; a is a broadcast panel, mr scalars a depth step,
 * each spread over a vector. Which matrix takes which part is the caller's choice: a product of few columns takes its
 * rows as vectors, so that no lane is wasted.
 *
 * All functions exist once for each instruction set (RIDGE_ISA_FN). Source of the scheme: Goto and van de Geijn,
 * "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008. */
#ifndef RIDGE_CPU_GEMM_H
#define RIDGE_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/vec.h"
#include "ridge/target.h"

/* GEMM_MR x GEMM_NR accumulators fill the register file but for two vectors of b and a broadcast. GEMM_KC depth steps
 * of a vector panel, of a broadcast panel and of what lies between two uses of them stay in the second-level cache. */
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

/* Floats that packing may write past the end of a panel of [depth][mr]. */
enum { GEMM_SLACK = 16 };

/* What the accumulators start from. */
typedef enum gemm_start { GEMM_ZERO, GEMM_BIAS, GEMM_ADD } gemm_start; /* 0, bias[i], c[i, j] */

/* What will be needed after this tile. Every GEMM_AHEAD_STEPS depth steps one line (16 floats) of each of `rows` rows
 * goes to the second-level cache; after `lines` lines the next `rows` rows follow. rows == 0: nothing. */
enum { GEMM_AHEAD_STEPS = 4, GEMM_LINE = 16 };
typedef struct gemm_ahead {
    const float *from;
    int64_t stride, lines;
    int rows;
} gemm_ahead;

/* A transposition to do beside the products: rows of src become a vector panel, panel[d * GEMM_NR + i] = src[i * stride
 * + d]. Its shuffles and loads run on ports that multiply-adds leave idle. GEMM_NR rows; depth is cut to whole lines.
 * Units are done in order; each also fetches what a unit some lines on will read. */
typedef struct gemm_beside {
    const float *src;
    int64_t stride, lines; /* lines of GEMM_LINE floats along each row */
    float *panel;
    int64_t unit, units; /* next, and how many: GEMM_LINE depth steps of eight rows each */
    int64_t pace, wait;  /* rounds of GEMM_AHEAD_STEPS depth steps from one unit to the next; rounds left */
} gemm_beside;

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)
enum { GEMM_HAS_BESIDE = 1 };
#else
enum { GEMM_HAS_BESIDE = 0 };
#endif

/* Does the units that are left. */
void RIDGE_ISA_FN(gemm_beside_finish)(gemm_beside *beside);

typedef struct gemm_tile_args {
    int mr; /* 1 … GEMM_MR */
    int nr; /* 1 … GEMM_NR: columns of c that exist; b has GEMM_NR all the same */
    int64_t depth;
    const float *a;
    int64_t a_step; /* floats from one depth step of a to the next; mr when packed */
    const float *b; /* [depth][GEMM_NR] */
    float *c;
    int64_t c_stride; /* floats from row i of c to the next */
    gemm_start start;
    const float *bias; /* [mr], for GEMM_BIAS */
    gemm_ahead ahead;
    gemm_beside *beside; /* NULL, or a transposition to go on with; mr at most GEMM_MR - 1, to leave registers for it */
} gemm_tile_args;

void RIDGE_ISA_FN(gemm_tile)(const gemm_tile_args *t);

/* A panel from a matrix whose depth runs down its rows: panel[d * step + i] = src[d * stride + i] for i < n; zero for
 * n <= i < step. Writes up to GEMM_SLACK floats past the end. */
void RIDGE_ISA_FN(gemm_pack_straight)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel);

/* A panel from a matrix whose depth runs along its rows: panel[d * step + i] = src[i * stride + d] for i < n; what is
 * between n and step is not specified. Writes up to GEMM_SLACK floats past the end. */
void RIDGE_ISA_FN(gemm_pack_transposed)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel);

/* The way back: dst[i * stride + d] = panel[d * step + i] * scale[i] for i < n <= step and d < depth. */
void RIDGE_ISA_FN(gemm_unpack_transposed)(const float *panel, int step, int64_t depth, int n, const float *scale,
                                          float *dst, int64_t stride);

/* Part p of n items cut into `parts` parts whose sizes differ by at most one. */
static inline int64_t gemm_cut(int64_t n, int64_t parts, int64_t p) {
    int64_t size = n / parts, longer = n % parts;
    return p * size + (p < longer ? p : longer);
}

#endif
