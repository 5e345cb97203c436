/* The plan of a product in 16 bits of which one operand has up to 64 rows (of A, or columns of B): bandwidth-bound by the
 * other one, which is read once.
 *
 * A block has 128 of the other operand's rows (columns) and a share of K. TMA keeps six slices of 16 KiB in flight for it
 * (five beside more than 16 of the few rows, four beside more than 32, or where their lines run across K), and two blocks fit an
 * SM. The blocks of a cluster have shares of the same
 * outputs, and add them through distributed shared memory in the order of the shares: no second launch, and always the same
 * sums. */
#ifndef RIDGE_GEMM_FEW_ROWS_H
#define RIDGE_GEMM_FEW_ROWS_H

#include "gemm/problem.h"

enum { GEMM_FEW = 64, GEMM_FEW_OUTPUTS = 128, GEMM_FEW_SLICE = 64, GEMM_FEW_BLOCKS = 2, GEMM_FEW_CLUSTER = 8 };

/* One operand: `rows` rows of K elements. */
typedef struct gemm_few_side {
    int64_t rows;
    gemm_matrix m; /* [rows, k] */
    bool along;    /* its lines run along K */
} gemm_few_side;

typedef struct gemm_few_rows {
    bool transposed; /* the few are the columns of C */
    gemm_few_side few, other;
    int cluster;  /* shares of K */
    int64_t each; /* slices of a share */
} gemm_few_rows;

/* Slices in flight for a block. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    gemm_few_stages(int64_t rows, bool along) {
    return !along || rows > 32 ? 4 : rows > 16 ? 5 : 6;
}

gemm_few_rows gemm_few_rows_of(const gemm_problem *g);
/* Microseconds of the product; below 0 where it is not of this kind. On Hopper. */
double gemm_few_rows_us(const gemm_problem *g);
ridge_plan gemm_few_rows_plan(const ridge_way *way, const ridge_problem *p);

#endif
