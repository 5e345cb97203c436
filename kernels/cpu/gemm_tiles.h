/* Register tiles that read their operands where they lie: what gemm_product.c is made of.
 *
 *   gemm_rows   vectors along the columns of b; elements of a, with any strides, are broadcast
 *   gemm_dots   vectors along the depth, which is contiguous in both operands; the lanes are added at the end */
#ifndef RIDGE_CPU_GEMM_TILES_H
#define RIDGE_CPU_GEMM_TILES_H

#include "cpu/gemm.h"

/* What a tile prefetches while it multiplies: `each` lines in every GEMM_AHEAD_STEPS depth steps, `step` floats apart;
 * after `lines` of them it goes on from `jump` floats further. from == NULL: nothing. */
typedef struct gemm_lines {
    const float *from;
    int64_t step, lines, jump;
    int each;
} gemm_lines;

/* Most rows of a tile of up to VF_LANES columns. */
enum { GEMM_TALL = GEMM_MR > 12 ? GEMM_MR : 12 };
static inline int gemm_rows_most(int64_t columns) { return columns <= VF_LANES ? GEMM_TALL : GEMM_MR; }

/* c[i, j] (+)= sum over d of a[i * a_row + d * a_depth] * b[d * b_step + j]     i < mr, j < nr
 * Reads nothing past column nr of b. */
typedef struct gemm_rows_args {
    int mr, nr; /* 1 … gemm_rows_most(nr), 1 … GEMM_NR */
    int64_t depth;
    const float *a;
    int64_t a_row, a_depth; /* one of them is 1 */
    const float *a_next;    /* with a_depth == 1: mr rows of a, a_row apart, to prefetch; NULL: none */
    const float *b;
    int64_t b_step;
    gemm_lines ahead;
    float *c;
    int64_t c_row;
    int64_t c_ahead; /* floats from an element of c to the one to prefetch with it: 0 if the tile takes long itself */
    bool add;
} gemm_rows_args;

void RIDGE_ISA_FN(gemm_rows)(const gemm_rows_args *t);

/* c[j] (+)= sum over d of a[d * a_depth] * b[d * b_step + j]    j < n, d < depth <= GEMM_LINE_DEPTH
 * One row: c passes through registers once. Prefetches `ahead` floats after what it reads of b. */
enum { GEMM_LINE_DEPTH = 8 };
void RIDGE_ISA_FN(gemm_line)(int64_t n, int depth, const float *a, int64_t a_depth, const float *b, int64_t b_step,
                             int64_t ahead, float *c, bool add);

/* c[i * c_row + j] (+)= sum over d of a[i * a_row + d] * b[j * b_row + d]     i < mr, j < nr
 * The sums, both operands' vectors and nothing else fit 16 registers. */
enum { GEMM_DOTS_MOST = 4 };
static inline int gemm_dots_rows(int64_t columns) { return columns <= 2 ? 4 : columns == 3 ? 3 : 2; } /* most mr */
static inline int gemm_dots_columns(int64_t rows) { return rows == 3 ? 3 : 4; } /* most nr of tiles of that many rows */
typedef struct gemm_dots_args {
    int mr, nr;
    int64_t depth;
    const float *a;
    int64_t a_row;
    const float *b;
    int64_t b_row;
    const float *ahead; /* GEMM_DOTS_MOST rows, ahead_row apart, to prefetch along; NULL: none */
    int64_t ahead_row;
    float *c;
    int64_t c_row;
    bool add;
} gemm_dots_args;

void RIDGE_ISA_FN(gemm_dots)(const gemm_dots_args *t);

#endif
