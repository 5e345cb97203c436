/* Predicted microseconds of the kernels of a linear layer on a GPU, for the choice among ways: launches, bytes and FLOP
 * over what the machine does of them, tiles in waves over its SMs. cost.c has the measured constants. */
#ifndef RIDGE_KERNELS_LINEAR_COST_H
#define RIDGE_KERNELS_LINEAR_COST_H

#include "cuda/gemm/any_plan.h"
#include "cuda/skinny/thin.h"
#include "cuda/skinny/ways.h"
#include "gemm/gemv.h"

/* The product pipelines of gemm/matmul.cuh. */
typedef enum linear_pipe {
    LINEAR_PIPE_SPLIT,         /* fp32 in hi and lo parts: 128 x 128 */
    LINEAR_PIPE_HALF,          /* tf32 in one part of fp16: 128 x 256 */
    LINEAR_PIPE_HALF_NARROW,   /* 128 x 64 */
    LINEAR_PIPE_HALF_SOFTMAX,  /* 128 x 128 */
    LINEAR_PIPE_SPLIT_SOFTMAX, /* with a softmax of whole rows behind it */
    LINEAR_PIPE_SPLIT_SINGLE,  /* likewise, where 104 columns are all */
    LINEAR_PIPE_16,            /* 128 x 256 */
    LINEAR_PIPE_16_SOFTMAX,
    LINEAR_PIPE_16_NARROW, /* 128 x 64 */
    LINEAR_PIPES
} linear_pipe;

/* One launch: C[m, n] = A[m, k] B[k, n], `count` of them side by side. */
double linear_pipe_cost(linear_pipe pipe, int64_t m, int64_t n, int64_t k, int64_t count, int sm_count);
/* The same by fp32 multiply-adds; bytes: of an operand's element; least: see any_plan_for. */
double linear_ffma_cost(int64_t m, int64_t n, int64_t k, int64_t count, int bytes, int least, int sm, int sm_count);
/* That of logits whose losses are made behind it, of the same launch where rows are whole. */
double linear_ffma_logits_cost(int64_t rows, int64_t classes, int64_t depth, int bytes, int sm, int sm_count,
                               bool *whole);
/* The same of a depth in shares, whose sums are added by another launch. */
double linear_ffma_shares_cost(any_split split, int64_t m, int64_t n, int bytes, int sm_count);
/* A pass that reads and writes so many bytes together, its launch included. */
double linear_pass_cost(double bytes);
/* A pass that makes operands parts for the tensor cores, line by line. */
double linear_scaling_cost(double lines, double bytes);
/* So many bytes besides, in a launch that is counted already. */
double linear_bytes_cost(double bytes);
/* A pass that copies operands whose lines may begin anywhere. */
double linear_copy_cost(double bytes);
/* The products of few rows, see gemv_cost of gemm/gemv.h. */
double linear_few_rows_cost(int64_t batch, int64_t depth, int64_t outputs, int64_t side, int bytes, gemv_product tensor,
                            bool along, int sm_count);
/* skinny/thin.cuh: whole rows of all heads' classes, and what is made of them; bytes: of an element; exact: fp32. */
double thin_cost(int64_t rows, int64_t depth, int64_t heads, int64_t classes, int bytes, bool exact, thin_phases phases,
                 int sm, int sm_count);
/* skinny/thin_outer.cuh: of few terms, to any number of columns, rows of which have so many phases. */
double outer_cost(int64_t rows, int64_t terms, int64_t columns, int bytes, int term_bytes, bool exact,
                  thin_phases phases, int sm_count);
/* skinny/thin_across.cuh: sums over rows of x [rows, depth], of so many bytes, for each of few columns. */
double across_cost(int64_t rows, int64_t depth, int64_t columns, int bytes, bool exact, thin_phases phases,
                   int sm_count);
/* One of skinny/ways.h. */
double skinny_cost(int way, const skinny_facts *f);

#endif
