/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; compute capability 10.0 only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: how many stages TMA fills ahead of
 * tcgen05. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(tcgen05_pipelined_cuda_baseline);
RIDGE_CUDA_DECLARE(tcgen05_pipelined_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16, {.dim = {256, 256, 256}, .dtype = RIDGE_BF16, MATMUL_GPU}};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "one_stage", "TMA and tcgen05 in turns", 100, matmul_plan_pieces, tcgen05_pipelined_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "four_stages", "TMA fills a ring of four, a thread of its own multiplies", 100, matmul_plan_pieces,
               tcgen05_pipelined_cuda_optimized),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(tcgen05_pipelined, "matrix product by TMA and tcgen05, a ring of stages", "TMA, one stage, tcgen05",
            "a ring of four stages between a thread that loads and one that multiplies");
