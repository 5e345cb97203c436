/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: whether the warps that multiply
 * also fetch. */
#include "model/matmul_target.h"

RIDGE_CUDA_DECLARE(warp_specialization_cuda_baseline);
RIDGE_CUDA_DECLARE(warp_specialization_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "all_alike", "every warp copies and multiplies, barriers of the block", 0, matmul_refuses_odd,
               warp_specialization_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "two_roles", "a warp copies, eight multiply, mbarriers between them", 90, matmul_refuses_odd,
               warp_specialization_cuda_optimized),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(warp_specialization, "matrix product, a warp that fetches and warps that multiply",
            "four slices in flight, all warps alike", "four slices in flight, a producer and consumers");
