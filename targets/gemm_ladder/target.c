/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The rungs of the chapter from the first kernel that one writes to the
 * last, each a variant of this one target, and the vendor's library beside them: `ridge run gemm_ladder` is one table.
 * THIS IS THE ONE LIST: a line more is a rung more. Each is explained where its kernel lies. */
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "gemm/triton.h"
#include "peer/cublaslt.h"

/*  X(name, compute capability, plan, launch, idea) */
#define RUNGS(X)                                                                                                  \
    X(slices, 0, NULL, cublaslt_gemm_cuda_baseline, "slices in shared memory, an element of C a thread")          \
    X(mma, 0, matmul_plan_eights, two_stage_cuda_baseline, "tensor cores (mma.sync); cp.async, wait, multiply")   \
    X(two_stages, 0, matmul_plan_eights, two_stage_cuda_optimized,                                                \
      "cp.async fills a stage while the other is multiplied")                                                     \
    X(wgmma, 90, matmul_plan_pieces, tma_pipeline_cuda_baseline, "wgmma on what TMA brings, in turns")            \
    X(ring, 90, matmul_plan_pieces, tma_pipeline_cuda_optimized, "128 x 256 sums a block, a ring of four stages") \
    X(clusters, 90, matmul_plan_pieces, cluster_multicast_cuda_of_2, "blocks of a cluster load for each other")   \
    X(roles, 90, matmul_plan_eights, warp_specialization_cuda_three,                                              \
      "a thread loads, eight warps multiply, a thread stores")

RIDGE_CUDA_DECLARE(gemm_ladder_cuda_naive);
#define DECLARE(name, needs, plan, fn, idea) RIDGE_CUDA_DECLARE(fn);
RUNGS(DECLARE)
#undef DECLARE

static const ridge_case cases[] = {
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, MATMUL_GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F16, MATMUL_GPU},
    {.dim = {0, 8, 16}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {129, 264, 72}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},
    {.dim = {160, 288, 256}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU}, /* multiples of 16 */
};

/* Where the rung does not take the operands, its way `any` does. */
#define WAYS(name, needs, plan, fn, idea) \
    static const ridge_way name##_ways[] = {MATMUL_WAY(0, #name, idea, needs, plan, fn), MATMUL_WAY_ANY};
RUNGS(WAYS)
#undef WAYS

#define VARIANT(name_, needs, plan, fn, idea_) \
    {.name = "cuda/" #name_, .role = RIDGE_OPTIMIZED, .idea = idea_, .ways = RIDGE_LIST(name_##_ways)},
static const ridge_way triton_ways[] = {
    TRITON_WAY(matmul_triton, "tiles by tl.dot, of 128 x 128 where these fill the device")};
static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C a thread, operands from memory",
     .run = RIDGE_CUDA(gemm_ladder_cuda_naive)},
    RUNGS(VARIANT)
        GEMM_CUBLASLT("cuda/cublaslt", RIDGE_PEER, "cuBLASLt, the quickest of its algorithms", gemm_cublaslt_search),
    {TRITON_VARIANT("cuda/triton_aot", "Triton's kernel, compiled ahead of time", matmul_triton, triton_ways)},
};

MATMUL_TARGET(gemm_ladder, "the matrix product's rungs, from naive to clusters");
