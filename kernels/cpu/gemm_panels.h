/* A product whose operands are ready: C[m, n] (+)= A[m, k] B[k, n], B in panels of GEMM_NR columns that somebody has packed or
 * decoded, or where it lies in rows. For kernels that multiply one B by many blocks of rows: gemm_product.h packs B each time. */
#ifndef RIDGE_CPU_GEMM_PANELS_H
#define RIDGE_CPU_GEMM_PANELS_H

#include "cpu/gemm_tiles.h"

/* Column j of B's row d is b[j / GEMM_NR * b_panel + d * b_step + j % GEMM_NR]. One stride of a is 1. Rows of A that share a set of
 * L1, because they are a multiple of 4 KiB apart, are slow to read side by side. */
typedef struct gemm_panels {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_depth;
    const float *b;
    int64_t b_panel, b_step;
    float *c;
    int64_t c_row;
    bool add;   /* C += A B */
    bool ahead; /* B comes from beyond L2: panels are prefetched */
} gemm_panels;

/* Runs on the calling thread. */
void RIDGE_ISA_FN(gemm_panels)(const gemm_panels *p);

/* Packs panels of the k columns of some rows, which are B's columns. Writes up to GEMM_SLACK floats past the end. */
static inline void gemm_panels_pack(const float *rows, int64_t row, int64_t n, int64_t k, float *panels) {
    for (int64_t j = 0; j < n; j += GEMM_NR) RIDGE_ISA_FN(gemm_pack_transposed)
    (rows + j * row, row, k, (int)(n - j < GEMM_NR ? n - j : GEMM_NR), GEMM_NR, panels + j * k);
}

#endif
