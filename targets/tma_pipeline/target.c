/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: how many stages TMA fills ahead
 * of wgmma. */
#include "model/matmul_target.h"

RIDGE_CUDA_DECLARE(tma_pipeline_cuda_baseline);
RIDGE_CUDA_DECLARE(tma_pipeline_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16};

#define WAY(name_, idea_, fn)                                                                                    \
    {                                                                                                            \
        .name = name_, .idea = idea_, .needs = 90, .refuses = matmul_refuses_unaligned, .cost = matmul_way_cost, \
        .run = RIDGE_CUDA(fn), .number = MATMUL_TILES                                                            \
    }
static const ridge_way baseline_ways[] = {WAY("one_stage", "TMA and wgmma in turns", tma_pipeline_cuda_baseline),
                                          MATMUL_WAY_ANY};
static const ridge_way optimized_ways[] = {WAY("four_stages", "TMA fills a ring of four", tma_pipeline_cuda_optimized),
                                           MATMUL_WAY_ANY};

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "TMA, one stage, wgmma",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a ring of stages, tiles that follow each other without a gap",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_tma_pipeline = {
    .name = "tma_pipeline",
    .chapter = "ch09",
    .summary = "matrix product by TMA and wgmma, a ring of stages",
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
