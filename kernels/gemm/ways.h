/* The ways of a product on a GPU: of every target that has one, whose dims, options and tensors are those of
 * problem.h. */
#ifndef RIDGE_GEMM_WAYS_H
#define RIDGE_GEMM_WAYS_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Ways of one kernel each: X(name, compute capability from which on, capability below which or 0, idea). Of a name are its plan,
 * gemm_<name>_plan, and its launch, gemm_cuda_<name>. Those of one small extent; those of two steps, without terms; those that take
 * everything. */
#define GEMM_THIN_WAYS(X)                                                                           \
    X(few_rows, 90, 91, "up to 64 rows, or columns: the other operand once, at the rate of memory") \
    X(vector, 80, 0, "one row, or column, and lines along K: the matrix once, by loads")            \
    X(vector_across, 80, 0, "one row, or column, and lines across K: the matrix once, by loads")    \
    X(gemv, 80, 0, "up to 64 rows, or columns: the other operand once, by loads, however it lies")  \
    X(shallow, 80, 0, "a K of up to 64 (16 bits: 32): C once")
#define GEMM_STEP_WAYS(X)                                                                        \
    X(waves, 90, 91, "rows or columns that fill whole waves of tiles, the rest by another tile") \
    X(copied, 90, 91, "operands between 16-byte boundaries copied, then tiles")
#define GEMM_ANY_WAYS(X)                                                \
    X(any_shares, 0, 0, "fp32 multiply-adds, few tiles in shares of K") \
    X(any, 0, 0, "fp32 multiply-adds, operands as they lie")

#define GEMM_ONE_MORE(...) +1
enum {
    GEMM_N_TILES = 0 GEMM_TILES(GEMM_ONE_MORE),
    GEMM_SPLIT_WAYS = 0 GEMM_HI_LO_TILES(GEMM_ONE_MORE) GEMM_HI_TILES(GEMM_ONE_MORE) GEMM_TENSOR_TILES(GEMM_ONE_MORE),
    GEMM_OTHER_WAYS = 0 GEMM_THIN_WAYS(GEMM_ONE_MORE) GEMM_ANY_WAYS(GEMM_ONE_MORE),
    GEMM_CUDA_WAYS = GEMM_N_TILES + GEMM_SPLIT_WAYS + GEMM_OTHER_WAYS GEMM_STEP_WAYS(GEMM_ONE_MORE),
    GEMM_TERMS_WAYS = GEMM_SPLIT_WAYS + GEMM_OTHER_WAYS GEMM_TERMS_TILES(GEMM_ONE_MORE)
};
#undef GEMM_ONE_MORE
extern const ridge_way gemm_cuda_ways[GEMM_CUDA_WAYS];
/* The quickest of these, and its plan; NULL: none takes the problem, which is one of gemm. */
const ridge_way *gemm_cuda_quickest(const ridge_problem *p, ridge_plan *plan);
extern const ridge_way gemm_terms_ways[GEMM_TERMS_WAYS]; /* of gemm_epilogue */

#endif
