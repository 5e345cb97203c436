/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps)      x, y: [rows, cols], f32, bf16 or f16, rows possibly strided; eps = 1e-12
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "ridge/target.h"

#include <math.h>

#include "cuda/rows/cases.h"
#include "fused_l2norm.h"
#include "model/row_temporary.h"

RIDGE_CPU_DECLARE(l2norm_cpu_baseline);
RIDGE_CPU_DECLARE(l2norm_cpu_optimized);
RIDGE_CUDA_DECLARE(l2norm_cuda_baseline);
RIDGE_CUDA_DECLARE(l2norm_cuda_optimized);

static const double eps = 1e-12;

static const ridge_case cases[] = {
    {.dim = {8192, 2048}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 2048}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1000003}, .dtype = RIDGE_F32, .edge = true}, /* larger than L2 */
    {.dim = {2111, 2111},
     .dtype = RIDGE_F32,
     .edge = true}, /* large enough for streaming stores; rows share cache lines */
    {.dim = {1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {3001, 3001}, .dtype = RIDGE_BF16, .edge = true},
    ROW_CUDA_CASES,
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

/* Reads x, writes its squares; reads the squares; reads x again, writes y. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = 2.0 * x + temporary, .written = temporary + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c), .streamed = tensor_bytes(c)};
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]) + (size_t)c->dim[0] * sizeof(float);
}

/* GPU: reads x, writes and reads its squares, reads x again, writes y. No write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2.0 * tensor_bytes(c) + 4.0 * elements(c),
                         .streamed = 4.0 * elements(c) + tensor_bytes(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    double x = (c->dim[1] > ROW_CUDA_HELD ? 2.0 : 1.0) * tensor_bytes(c);
    *t = (ridge_traffic){.read = x, .streamed = tensor_bytes(c)};
}
static size_t cuda_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]) + 3 * (size_t)c->dim[0] * sizeof(float);
}

static const row_traits traits = L2NORM_ROWS;
static const ridge_way ways[] = {
    ROW_WAYS_MANY(l2norm_cuda_optimized, &traits),   ROW_WAYS_SHORT(l2norm_cuda_optimized, &traits),
    ROW_WAYS_FILLED(l2norm_cuda_optimized, &traits), ROW_WAYS_SPREAD(l2norm_cuda_optimized, &traits),
    ROW_WAYS_BLOCK(l2norm_cuda_optimized, &traits),  ROW_WAYS_LONG(l2norm_cuda_optimized, &traits),
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "square, reduce, scale: three passes over memory",
     .run = RIDGE_CPU(l2norm_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row stays in cache between reduce and scale while the next is prefetched; streaming stores beyond 16 MiB",
     .run = RIDGE_CPU(l2norm_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "square, reduce, root, scale: four kernels through memory",
     .run = RIDGE_CUDA(l2norm_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = cuda_baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers, of one warp to a cluster of 16 blocks by its length: one read, one write",
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 3.0 * elements(c), .bytes_read = tensor_bytes(c), .bytes_written = tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols, sum = 0;
        for (int64_t j = 0; j < cols; j++) sum += x[j] * x[j];
        double norm = sqrt(sum);
        if (norm < eps) norm = eps; /* NaN stays */
        for (int64_t j = 0; j < cols; j++) y[j] = x[j] / norm;
    }
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24;
    b->relative =
        (call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype)) + u * (3.0 + row_sum_error(call->dim[1]));
}

const ridge_target ridge_target_fused_l2norm = {
    .name = "fused_l2norm",
    .chapter = "ch09",
    .summary = "row-wise L2 normalization",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
