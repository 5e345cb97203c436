/* The ways of a product on a GPU: of every target that has one, whose dims, options and tensors are those of
 * problem.h. */
#ifndef RIDGE_GEMM_WAYS_H
#define RIDGE_GEMM_WAYS_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

#define GEMM_ONE_MORE(...) +1
enum {
    GEMM_N_TILES = 0 GEMM_TILES(GEMM_ONE_MORE),
    GEMM_CUDA_WAYS =
        GEMM_N_TILES GEMM_HI_LO_TILES(GEMM_ONE_MORE) GEMM_HI_TILES(GEMM_ONE_MORE) GEMM_TENSOR_TILES(GEMM_ONE_MORE) + 8,
    GEMM_TERMS_WAYS = 0 GEMM_TERMS_TILES(GEMM_ONE_MORE) GEMM_HI_LO_TILES(GEMM_ONE_MORE) GEMM_HI_TILES(GEMM_ONE_MORE)
                          GEMM_TENSOR_TILES(GEMM_ONE_MORE) +
                      6
};
#undef GEMM_ONE_MORE
extern const ridge_way gemm_cuda_ways[GEMM_CUDA_WAYS];
/* The quickest of these, and its plan; NULL: none takes the problem, which is one of gemm. */
const ridge_way *gemm_cuda_quickest(const ridge_problem *p, ridge_plan *plan);
extern const ridge_way gemm_terms_ways[GEMM_TERMS_WAYS]; /* of gemm_epilogue */

#endif
