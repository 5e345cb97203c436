/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: whether the next slice of K is
 * on its way while one is multiplied. */
#include "model/matmul_target.h"

RIDGE_CUDA_DECLARE(two_stage_cuda_baseline);
RIDGE_CUDA_DECLARE(two_stage_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16};

#define WAY(name_, idea_, fn)                                                                                        \
    {                                                                                                                \
        .name = name_, .idea = idea_, .refuses = matmul_refuses_odd, .cost = matmul_way_cost, .run = RIDGE_CUDA(fn), \
        .number = MATMUL_TILES                                                                                       \
    }
static const ridge_way baseline_ways[] = {WAY("one_stage", "load, barrier, multiply, barrier", two_stage_cuda_baseline),
                                          MATMUL_WAY_ANY};
static const ridge_way optimized_ways[] = {
    WAY("two_stages", "cp.async fills a stage while the other is multiplied", two_stage_cuda_optimized),
    MATMUL_WAY_ANY};

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "slices of K through shared memory, one at a time",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "two slices in flight",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_two_stage_pipeline = {
    .name = "two_stage_pipeline",
    .chapter = "ch09",
    .summary = "matrix product, two stages in flight by cp.async",
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
