/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: whether the warps that multiply
 * also fetch. */
#include "model/matmul_target.h"

RIDGE_CUDA_DECLARE(warp_specialization_cuda_baseline);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16};

static const ridge_way baseline_ways[] = {{.name = "all_alike",
                                           .idea = "every warp copies and multiplies, barriers of the block",
                                           .refuses = matmul_refuses_odd,
                                           .cost = matmul_way_cost,
                                           .run = RIDGE_CUDA(warp_specialization_cuda_baseline),
                                           .number = MATMUL_TILES},
                                          MATMUL_WAY_ANY};
static const ridge_way optimized_ways[] = {{.name = "two_roles",
                                            .idea = "a warp copies, eight multiply, mbarriers between them",
                                            .needs = 90,
                                            .refuses = matmul_refuses_odd,
                                            .cost = matmul_way_cost,
                                            .run = RIDGE_CUDA(warp_specialization_cuda_optimized),
                                            .number = MATMUL_TILES},
                                           MATMUL_WAY_ANY};

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "four slices in flight, all warps alike",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "four slices in flight, a producer and consumers",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_warp_specialization = {
    .name = "warp_specialization",
    .chapter = "ch09",
    .summary = "matrix product, a warp that fetches and warps that multiply",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(matmul_in),
    .out = RIDGE_LIST(matmul_out),
    .variants = RIDGE_LIST(variants),
    .work = matmul_work,
    .oracle = matmul_oracle,
    .bound = matmul_bound_16,
    .products = true,
    .reject = matmul_reject_16,
};
