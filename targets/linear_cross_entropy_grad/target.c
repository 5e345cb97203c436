/* Loss and gradients together: linear_cross_entropy, then linear_cross_entropy_backward with its lse.
 * x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64, dloss: f32 [batch] -> loss, lse, dx, dw,
 * db. 6 batch depth classes FLOP for three products, 8 for each logit; every operand once. */
#include "linear_cross_entropy_grad.h"

#define CE_PLACES linear_cross_entropy_grad_places
#define CE_GRADIENTS true
#define CE_OPTIMIZED linear_cross_entropy_grad_cuda_optimized
#include "linear/loss_target.h"

enum { W_BY_COLUMNS = 1 << CE_W, DW_BY_COLUMNS = 1 << (5 + 3), ALL_BY_COLUMNS = W_BY_COLUMNS | DW_BY_COLUMNS };

static const ridge_case cases[] = {
    CE_CASES,
    {.dim = {4096, 2048, 16384}, CE_TIMED(BF16), CE_ONLY_CUDA},
    CE_EDGES(W_BY_COLUMNS, ALL_BY_COLUMNS),
};

static const ridge_tensor_spec in[] = {
    CE_INPUTS,
    /* plain inputs: for denormal ones the precision decides whether G is 0, and 0 times an infinity of w is NaN */
    {.name = "dloss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .by_row = true, .plain = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "loss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32},
    {.name = "lse", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .given = true},
    {.name = "dx", .rank = 2, .dim = {CE_BATCH, CE_DEPTH}},
    {.name = "dw", .rank = 2, .dim = {CE_CLASSES, CE_DEPTH}, .takes_column_major = true},
    {.name = "db", .rank = 1, .dim = {CE_CLASSES}, .dtype = RIDGE_F32},
};

static const ridge_way cpu_ways[] = {
    CE_CPU_WAYS(linear_cross_entropy_grad_cpu_fused, linear_cross_entropy_grad_cpu_chunks)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a library's products, logits in memory, softmax row by row",
     .run = RIDGE_CPU(linear_cross_entropy_grad_cpu_baseline),
     CE_CPU_BASELINE},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits and their gradient of a block of rows stay in cache, vectors along the batch",
     CE_CPU_OPTIMIZED},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "as the baseline, with cblas_sgemm",
     .run = RIDGE_CPU(linear_cross_entropy_grad_cpu_openblas),
     CE_CPU_OPENBLAS},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_grad_cuda_baseline),
     CE_CUDA_BASELINE},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_grad_cuda_unfused),
     CE_CUDA_UNFUSED},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits once: their exponentials become the gradients when the rows' sums are known",
     CE_CUDA_OPTIMIZED},
};

const ridge_target ridge_target_linear_cross_entropy_grad = {
    .name = "linear_cross_entropy_grad",
    .chapter = "ch09",
    .summary = "loss and gradients of softmax regression in one call",
    .dims = {"batch", "depth", "classes"},
    .large = 8,
    CE_TARGET,
};
