/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: whether the next slice of K is
 * on its way while one is multiplied. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(two_stage_cuda_baseline);
RIDGE_CUDA_DECLARE(two_stage_cuda_optimized);
RIDGE_CUDA_DECLARE(two_stage_cuda_four);
RIDGE_CUDA_DECLARE(two_stage_cuda_object);

static const ridge_case cases[] = {MATMUL_CASES_16};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "one_stage", "cp.async, wait, multiply, barrier", 0, matmul_plan_eights, two_stage_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "two_stages", "cp.async fills a stage while the other is multiplied", 0, matmul_plan_eights,
               two_stage_cuda_optimized),
    MATMUL_WAY(1, "four_stages", "cp.async fills three stages while one is multiplied", 90, matmul_plan_eights,
               two_stage_cuda_four),
    MATMUL_WAY(2, "two_stages_object", "two stages by cuda::pipeline", 0, matmul_plan_eights, two_stage_cuda_object),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(two_stage_pipeline, "matrix product, two stages in flight by cp.async",
            "slices of K through shared memory, one at a time", "two slices in flight");
