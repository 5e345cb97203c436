/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair: a kernel as a textbook has it, and the vendor's
 * library with the quickest of its algorithms. */
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "peer/cublaslt.h"

RIDGE_CUDA_DECLARE(cublaslt_gemm_cuda_baseline);

static const ridge_case cases[] = {
    MATMUL_CASES_16,
    {.dim = {8192, 8192, 8192}, .dtype = RIDGE_F16, MATMUL_GPU},
    {.dim = {4096, 4096, 8192}, .dtype = RIDGE_BF16, MATMUL_GPU},
    {.dim = {4096, 4096, 8192}, .dtype = RIDGE_F16, MATMUL_GPU},
    {.dim = {33, 31, 1}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},
    {.dim = {1, 65, 95}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
};

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "slices in shared memory, an element of C a thread, multiply-adds",
     .run = RIDGE_CUDA(cublaslt_gemm_cuda_baseline)},
    GEMM_CUBLASLT("cuda/optimized", RIDGE_OPTIMIZED, "cuBLASLt, the quickest of its algorithms", gemm_cublaslt_search),
};

MATMUL_TARGET(cublaslt_gemm, "matrix product by the vendor's library");
