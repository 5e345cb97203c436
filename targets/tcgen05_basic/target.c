/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; compute capability 10.0 only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: who brings operands to tcgen05. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(tcgen05_basic_cuda_baseline);
RIDGE_CUDA_DECLARE(tcgen05_basic_cuda_optimized);

static const ridge_case cases[] = {MATMUL_CASES_16, {.dim = {256, 256, 256}, .dtype = RIDGE_BF16, MATMUL_GPU}};

static const ridge_way baseline_ways[] = {
    MATMUL_WAY(0, "all_threads", "all threads copy a slice, meet, and wait for its products", 100, matmul_plan_eights,
               tcgen05_basic_cuda_baseline),
    MATMUL_WAY_ANY,
};
static const ridge_way optimized_ways[] = {
    MATMUL_WAY(0, "one_thread", "one thread asks TMA for a slice and starts its products", 100, matmul_plan_pieces,
               tcgen05_basic_cuda_optimized),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(tcgen05_basic, "matrix product by tcgen05, sums in tensor memory", "all threads load, tcgen05",
            "one thread loads by TMA and multiplies by tcgen05");
