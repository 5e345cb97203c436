/* The plan of a product in 16 bits of which one operand has up to 16 rows (of A, or columns of B), where few_rows cannot
 * have it: TMA does not read lines between 16-byte boundaries, so threads do.
 *
 * A block has GEMM_DIRECT_WIDE lines of the other operand and a share of K. The blocks of a cluster have shares of the
 * same outputs, and add them through distributed shared memory in the order of the shares. */
#ifndef RIDGE_GEMM_DIRECT_H
#define RIDGE_GEMM_DIRECT_H

#include "gemm/problem.h"

enum { GEMM_DIRECT_NARROW = 16, GEMM_DIRECT_WIDE = 128, GEMM_DIRECT_SLICE = 64, GEMM_DIRECT_CLUSTER = 8 };
enum { GEMM_DIRECT_BLOCKS = 3 }; /* of an SM */

typedef struct gemm_direct {
    bool transposed; /* the narrow side is of N */
    int64_t tiles;
    int cluster;  /* shares of K */
    int64_t each; /* slices of a share */
} gemm_direct;

gemm_direct gemm_direct_of(const gemm_problem *g);
ridge_plan gemm_direct_plan(const ridge_way *way, const ridge_problem *p);

#endif
