/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: how many blocks share what TMA
 * brings from L2. */
#include "gemm/matmul_target.h"

RIDGE_CUDA_DECLARE(cluster_multicast_cuda_alone);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_2);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_4);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_8);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_16);

static const ridge_case cases[] = {
    MATMUL_CASES_16,
    {.dim = {700, 1290, 136}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU}, /* tiles that no block of a cluster has */
};

#define WAY(order, name, idea, blocks) \
    MATMUL_WAY(order, name, idea, 90, matmul_plan_pieces, cluster_multicast_cuda_##blocks)
static const ridge_way baseline_ways[] = {
    WAY(0, "alone", "each block loads its own operands", alone),
    MATMUL_WAY_ANY,
};
/* The fewer, the sooner taken: larger clusters wait for more blocks, and fewer fit the device. */
static const ridge_way optimized_ways[] = {
    WAY(0, "clusters_of_2", "two tiles of a column share B", of_2),
    WAY(1, "clusters_of_4", "2 x 2 tiles share A and B", of_4),
    WAY(2, "clusters_of_8", "4 x 2 tiles", of_8),
    WAY(3, "clusters_of_16", "4 x 4 tiles", of_16),
    MATMUL_WAY_ANY,
};
MATMUL_RUNG(cluster_multicast, "matrix product, blocks of a cluster load for each other",
            "a ring of stages, each block for itself", "blocks of a cluster load for each other");
