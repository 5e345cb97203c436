/* The plan of a product of which one operand has up to 64 rows (of A, or columns of B), by kernels/cuda/gemv: threads read
 * the other operand once, of any type and however it lies. Sums of shares of K go to scratch, and a second launch adds them
 * in their order. */
#ifndef RIDGE_GEMM_GEMV_H
#define RIDGE_GEMM_GEMV_H

#include "cuda/gemv/plan.h"
#include "gemm/problem.h"

typedef struct gemm_gemv {
    bool transposed; /* the few rows are the columns of B, and so of C */
    int64_t few, outputs;
    bool along; /* lines of the other operand run along K */
    gemv_plan plan;
    double us;    /* without launches; 0: as gemv_cost has it */
    int64_t line; /* of sums: [shares][few][line] */
    size_t bytes; /* of all sums */
} gemm_gemv;

gemm_gemv gemm_gemv_of(const gemm_problem *g);
ridge_plan gemm_gemv_plan(const ridge_way *way, const ridge_problem *p);

/* Microseconds on an H200 of z[rows, outputs] = x[rows, depth] w^T, `side` of them, whose w has elements of so many bytes, by
 * the kernels of cuda/gemv; tensor: what the tensor cores do; along: w's lines run along the depth. */
double gemv_cost(int64_t rows, int64_t depth, int64_t outputs, int64_t side, int bytes, gemv_product tensor, bool along,
                 int sm_count);
/* The same of out[lines, columns] from few rows, written once. */
double gemv_outer_cost(int64_t rows, int64_t lines, int64_t columns, int bytes, gemv_product tensor);

#endif
