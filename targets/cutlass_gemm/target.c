/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair: cuBLASLt's first guess, as a program gets it that does not
 * search, and CUTLASS's Hopper kernels. */
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "peer/cublaslt.h"
#include "peer/cutlass.h"

RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_automatic);
RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_pingpong);
RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_cooperative);

static const ridge_case cases[] = {
    {.dim = {4096, 4096, 8192}, .dtype = RIDGE_BF16, MATMUL_GPU}, /* the chapter's */
    MATMUL_CASES_16,
};

#define WAY(order, name, idea) MATMUL_WAY(order, #name, idea, 90, matmul_plan_eights, cutlass_gemm_cuda_##name)
static const ridge_way optimized_ways[] = {
    WAY(0, cooperative, "128 x 256, two warpgroups share a tile, pairs of blocks share B"),
    WAY(1, pingpong, "64 x 128, each warpgroup a tile of its own, in turns"),
    WAY(2, automatic, "128 x 128, the schedule that CUTLASS chooses"),
    MATMUL_WAY_ANY,
};

static const ridge_variant variants[] = {
    GEMM_CUBLASLT("cuda/baseline", RIDGE_BASELINE, "cuBLASLt, the algorithm that it guesses", gemm_cublaslt_guess),
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "CUTLASS's Hopper collectives",
     .unavailable = cutlass_absent,
     .ways = RIDGE_LIST(optimized_ways)},
};

MATMUL_TARGET(cutlass_gemm, "matrix product by CUTLASS");
