/* dx = G w, dw = G^T x, db = sum_i G_i, G = dloss ((1 + 2 zl lse) exp(z - lse) - (1-s) [label] - s/classes), z = x w^T
 * + b x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64, lse, dloss: f32 [batch] -> dx, dw as x
 * and w, db. 6 batch depth classes FLOP for three products, 8 for each logit; every operand once. */
#include "cpu/linear_ce.h"
#include "cuda/linear/arithmetic.h"
#include "cuda/linear/loss_scratch.h"
#include "linear_cross_entropy_backward.h"
#include "peer/openblas.h"

enum { W_BY_COLUMNS = 1 << CE_W, DW_BY_COLUMNS = 1 << (6 + 1), ALL_BY_COLUMNS = W_BY_COLUMNS | DW_BY_COLUMNS };

static const ridge_case cases[] = {
    CE_CASES,
    {.dim = {4096, 2048, 16384}, CE_TIMED(BF16), CE_ONLY_CUDA},
    CE_EDGES(W_BY_COLUMNS, ALL_BY_COLUMNS),
};

static const ridge_tensor_spec in[] = {
    CE_INPUTS,
    {.name = "lse",
     .rank = 1,
     .dim = {CE_BATCH},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_LOG,
     .index_dim = CE_CLASSES,
     .by_row = true},
    /* plain inputs: for denormal ones the precision decides whether G is 0, and 0 times an infinity of w is NaN */
    {.name = "dloss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .by_row = true, .plain = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "dx", .rank = 2, .dim = {CE_BATCH, CE_DEPTH}},
    {.name = "dw", .rank = 2, .dim = {CE_CLASSES, CE_DEPTH}, .takes_column_major = true},
    {.name = "db", .rank = 1, .dim = {CE_CLASSES}, .dtype = RIDGE_F32},
};

static void work(const ridge_case *c, ridge_work *w) { ce_work(&linear_cross_entropy_backward_places, c, w); }
static void oracle(const ridge_oracle_call *call) { ce_oracle(&linear_cross_entropy_backward_places, call); }
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    ce_bound(&linear_cross_entropy_backward_places, call, kind, output, b);
}
static void unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    ce_unfused_traffic(&linear_cross_entropy_backward_places, c, t);
}
static void fused_traffic(const ridge_case *c, ridge_traffic *t) {
    ce_fused_traffic(&linear_cross_entropy_backward_places, c, t);
}
static size_t fused_scratch(const ridge_case *c, int threads) { return linear_ce_fused_scratch(c, true, threads); }

static ridge_arithmetic cuda_arithmetic(const ridge_case *c, int sm) { return linear_loss_arithmetic(c, sm, true); }
static size_t cuda_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return linear_loss_bytes(c, true);
}

static void cuda_unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    ce_cuda_unfused_traffic(&linear_cross_entropy_backward_places, c, t);
}
static void cuda_fused_traffic(const ridge_case *c, ridge_traffic *t) {
    ce_cuda_fused_traffic(&linear_cross_entropy_backward_places, c, t);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a library's products, logits in memory, softmax row by row",
     .run = RIDGE_CPU(linear_cross_entropy_backward_cpu_baseline),
     .traffic = unfused_traffic,
     .scratch = ce_unfused_scratch,
     .unavailable = ce_library_unavailable,
     .prepare = ce_library_prepare,
     .own_threads = true},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits and their gradient of a block of rows stay in cache, vectors along the batch",
     .run = RIDGE_CPU(linear_cross_entropy_backward_cpu_optimized),
     .traffic = fused_traffic,
     .scratch = fused_scratch,
     .unavailable = ce_cpu_unavailable},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "as the baseline, with cblas_sgemm",
     .run = RIDGE_CPU(linear_cross_entropy_backward_cpu_openblas),
     .traffic = unfused_traffic,
     .scratch = ce_unfused_scratch,
     .unavailable = ce_openblas_unavailable,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_backward_cuda_baseline),
     .traffic = cuda_unfused_traffic,
     .scratch = ce_cuda_library_scratch,
     .unavailable = ce_cuda_library_gradient_unavailable,
     .prepare = ce_cuda_library_gradient_prepare,
     .release = ce_cuda_library_release},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own products, logits in memory",
     .run = RIDGE_CUDA(linear_cross_entropy_backward_cuda_unfused),
     .traffic = cuda_unfused_traffic,
     .scratch = ce_cuda_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "gradients of logits for a chunk of rows at a time, three products by tensor cores",
     .run = RIDGE_CUDA(linear_cross_entropy_backward_cuda_optimized),
     .traffic = cuda_fused_traffic,
     .scratch = cuda_scratch,
     .arithmetic = cuda_arithmetic},
};

const ridge_target ridge_target_linear_cross_entropy_backward = {
    .name = "linear_cross_entropy_backward",
    .chapter = "ch09",
    .summary = "gradients of linear_cross_entropy from its saved lse",
    .dims = {"batch", "depth", "classes"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = CE_OPTIONS,
    .exact = 1,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = ce_reject,
};
