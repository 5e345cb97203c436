/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: whether the warps that multiply
 * also load and store. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(warp_specialization_cuda_alike);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_alike_mma);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_three);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_three_wide);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_two);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_three_mma);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_two_mma);

/* Where K is short, a tile's beginning and end weigh: roles overlap them with the tiles before and behind. The last case
 * has more tiles than a small GPU has SMs. */
static const ridge_case cases[] = {
    MATMUL_CASES_16,
    {.dim = {8192, 8192, 512}, .dtype = RIDGE_BF16, MATMUL_GPU},
    {.dim = {520, 1032, 136}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},
};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "all_alike", "every warp copies by cp.async, multiplies by wgmma and stores", 90, matmul_plan_eights,
               warp_specialization_cuda_alike),
    MATMUL_WAY(1, "all_alike_mma", "the same, products by mma.sync", 90, matmul_plan_eights,
               warp_specialization_cuda_alike_mma),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "three_roles", "a thread loads by TMA, eight warps multiply by wgmma, a thread stores by TMA", 90,
               matmul_plan_eights, warp_specialization_cuda_three),
    MATMUL_WAY(1, "three_roles_wide", "three roles by TMA and wgmma, room for a whole tile on its way to C", 90,
               matmul_plan_eights, warp_specialization_cuda_three_wide),
    MATMUL_WAY(2, "two_roles", "a thread loads by TMA, eight warps multiply by wgmma and store", 90, matmul_plan_eights,
               warp_specialization_cuda_two),
    MATMUL_WAY(3, "three_roles_mma", "three roles, products by mma.sync", 90, matmul_plan_eights,
               warp_specialization_cuda_three_mma),
    MATMUL_WAY(4, "two_roles_mma", "two roles, products by mma.sync", 90, matmul_plan_eights,
               warp_specialization_cuda_two_mma),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(warp_specialization, "matrix product, warps that load, multiply and store",
            "four stages, all warps alike, a tile a block",
            "four stages, roles that overlap loads, products and stores");
