/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: how many stages TMA fills ahead
 * of wgmma. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(tma_pipeline_cuda_baseline);
RIDGE_CUDA_DECLARE(tma_pipeline_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "one_stage", "TMA and wgmma in turns", 90, matmul_plan_pieces, tma_pipeline_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "four_stages", "TMA fills a ring of four", 90, matmul_plan_pieces, tma_pipeline_cuda_optimized),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(tma_pipeline, "matrix product by TMA and wgmma, a ring of stages", "TMA, one stage, wgmma",
            "a ring of stages, tiles that follow each other without a gap");
