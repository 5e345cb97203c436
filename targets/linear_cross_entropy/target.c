/* loss_i = (1-s)(lse_i - z_i,label) + s (lse_i - mean z_i) + zl lse_i^2, z = x w^T + b, lse_i = log sum exp z_i
 * x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64 [batch] -> loss, lse: f32 [batch].
 * 2 batch depth classes FLOP for the logits, 5 each for bias, maximum, subtraction, exp and sum; every operand once. */
#include "linear_cross_entropy.h"

#define CE_PLACES linear_cross_entropy_places
#define CE_GRADIENTS false
#define CE_OPTIMIZED linear_cross_entropy_cuda_optimized
#include "linear/loss_target.h"

enum { W_BY_COLUMNS = 1 << CE_W, ALL_BY_COLUMNS = W_BY_COLUMNS };

static const ridge_case cases[] = {
    CE_CASES,
    {.dim = {8192, 4096, 32768}, CE_TIMED(BF16), CE_ONLY_CUDA},
    CE_EDGES(W_BY_COLUMNS, ALL_BY_COLUMNS),
};

static const ridge_tensor_spec in[] = {
    CE_INPUTS,
};
static const ridge_tensor_spec out[] = {
    {.name = "loss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32},
    {.name = "lse", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32},
};

static const ridge_way cpu_ways[] = {CE_CPU_WAYS(linear_cross_entropy_cpu_fused, linear_cross_entropy_cpu_chunks)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a library's product, logits in memory, softmax row by row",
     .run = RIDGE_CPU(linear_cross_entropy_cpu_baseline),
     CE_CPU_BASELINE},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits of a block of rows stay in cache, vectors along the batch",
     CE_CPU_OPTIMIZED},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "as the baseline, with cblas_sgemm",
     .run = RIDGE_CPU(linear_cross_entropy_cpu_openblas),
     CE_CPU_OPENBLAS},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_cuda_baseline),
     CE_CUDA_BASELINE},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_cuda_unfused),
     CE_CUDA_UNFUSED},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits in registers only: parts of a softmax for every tile, tensor cores fed by TMA",
     CE_CUDA_OPTIMIZED},
};

const ridge_target ridge_target_linear_cross_entropy = {
    .name = "linear_cross_entropy",
    .chapter = "ch09",
    .summary = "cross-entropy of x w^T + b, logits never in memory",
    .dims = {"batch", "depth", "classes"},
    .large = 8,
    CE_TARGET,
};
