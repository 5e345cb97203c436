/* C[m,n] = A[m,k] B[k,n]      bf16 or f16, sums in fp32, rows possibly strided; GPU only
 * 2 m n k FLOP; least traffic 2 (m k + k n + m n) bytes. The pair differs in one thing: how many blocks share what TMA
 * brings from L2. */
#include "model/matmul_target.h"

RIDGE_CUDA_DECLARE(cluster_multicast_cuda_alone);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_2);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_4);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_8);
RIDGE_CUDA_DECLARE(cluster_multicast_cuda_of_16);

static const ridge_case cases[] = {
    MATMUL_CASES_16,
    {.dim = {700, 1290, 136}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU}, /* tiles that no block of a cluster has */
};

/* By a way's number: the fewer, the sooner taken. The larger clusters wait for more blocks, and fewer fit the device.
 */
#define WAY(order, name_, idea_, fn)                                                                             \
    {                                                                                                            \
        .name = name_, .idea = idea_, .needs = 90, .refuses = matmul_refuses_unaligned, .cost = matmul_way_cost, \
        .run = RIDGE_CUDA(cluster_multicast_cuda_##fn), .number = MATMUL_TILES + order                           \
    }
static const ridge_way baseline_ways[] = {WAY(0, "alone", "each block loads its own operands", alone), MATMUL_WAY_ANY};
static const ridge_way optimized_ways[] = {
    WAY(0, "clusters_of_2", "two tiles of a column share B", of_2),
    WAY(1, "clusters_of_4", "2 x 2 tiles share A and B", of_4),
    WAY(2, "clusters_of_8", "4 x 2 tiles", of_8),
    WAY(3, "clusters_of_16", "4 x 4 tiles", of_16),
    MATMUL_WAY_ANY,
};

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a ring of stages, each block for itself",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "blocks of a cluster load for each other",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_cluster_multicast = {
    .name = "cluster_multicast",
    .chapter = "ch09",
    .summary = "matrix product, blocks of a cluster load for each other",
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
