/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair: a kernel as a textbook has it, and the vendor's
 * library with the quickest of its algorithms. */
#include "gemm/library.h"
#include "model/matmul_target.h"
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
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "cuBLASLt, the quickest of its algorithms",
     .run = RIDGE_CUDA(gemm_cublaslt_run),
     .scratch = gemm_cublaslt_scratch,
     .unavailable = cublaslt_unavailable, /* no option alpha here: it is 1 */
     .prepare = RIDGE_CUDA_PLAN(gemm_cublaslt_search),
     .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)},
};

const ridge_target ridge_target_cublaslt_gemm = {
    .name = "cublaslt_gemm",
    .chapter = "ch09",
    .summary = "matrix product by the vendor's library",
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
