/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; compute capability 10.0 only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. Both variants have a ring of stages; the optimized one is persistent, with
 * the sums of two tiles in tensor memory. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(tcgen05_tma_pipeline_cuda_baseline);
RIDGE_CUDA_DECLARE(tcgen05_tma_pipeline_cuda_blocks);
RIDGE_CUDA_DECLARE(tcgen05_tma_pipeline_cuda_pairs);

static const ridge_case cases[] = {
    MATMUL_CASES_16,
    {.dim = {256, 256, 256}, .dtype = RIDGE_BF16, MATMUL_GPU},
    {.dim = {520, 776, 200},
     .dtype = RIDGE_BF16,
     .edge = true,
     MATMUL_GPU}, /* more tiles than a device of few SMs has blocks */
};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "four_stages", "a block a tile, a ring of four stages", 100, matmul_plan_pieces,
               tcgen05_tma_pipeline_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "pairs", "persistent pairs of blocks, 256 x 256 sums a pair, two tiles in tensor memory", 100,
               matmul_plan_pieces, tcgen05_tma_pipeline_cuda_pairs),
    MATMUL_WAY(1, "blocks", "persistent blocks, 128 x 256 sums a block, two tiles in tensor memory", 100,
               matmul_plan_pieces, tcgen05_tma_pipeline_cuda_blocks),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(tcgen05_tma_pipeline, "matrix product by TMA and tcgen05, persistent, two tiles in tensor memory",
            "a block a tile, a ring of four stages", "products of a tile beside the epilogue of the one before");
