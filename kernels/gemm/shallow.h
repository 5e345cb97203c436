/* The plan of a product of a K of up to 64 (16 bits: 32): bandwidth-bound by C, which is written once. Each warp has rows of C of its
 * own, 128 columns of them at a time, and B's columns stay in shared memory; operands lie in any order, at any address. */
#ifndef RIDGE_GEMM_SHALLOW_H
#define RIDGE_GEMM_SHALLOW_H

#include "gemm/problem.h"

enum {
    GEMM_SHALLOW_K = 64,           /* the most, in fp32 */
    GEMM_SHALLOW_K_16 = 32,        /* in 16 bits */
    GEMM_SHALLOW_COLUMNS = 128,    /* of a unit, in fp32 */
    GEMM_SHALLOW_COLUMNS_16 = 112, /* in 16 bits: 16 more are multiplied */
    GEMM_SHALLOW_WARPS = 8,
    GEMM_SHALLOW_BLOCKS = 2,   /* of an SM */
    GEMM_SHALLOW_DEEP = 64,    /* groups of a unit's rows, at most */
    GEMM_SHALLOW_ROWS = 8,     /* of a warp at a time, in fp32 */
    GEMM_SHALLOW_ROWS_16 = 16, /* in 16 bits */
};

/* C in units of so many columns by `deep` groups of rows; a group has as many as all warps have at a time. A block has every so many
 * units, one row of units after the other: blocks that run together have neighbours in the same rows of C, whose ends share lines
 * of L2. */
typedef struct gemm_shallow_units {
    int tiles, groups, deep;
    int count, blocks;
    double turns; /* groups that the busiest block has, and as much as the fills of shared memory take */
} gemm_shallow_units;

gemm_shallow_units gemm_shallow_units_of(int64_t m, int64_t n, bool halves, int sms);
ridge_plan gemm_shallow_plan(const ridge_way *way, const ridge_problem *p);

#endif
