/* y[i,:] = exp(x[i,:] - max x[i,:]) / sum      x, y: [rows, cols], f32, bf16 or f16, rows possibly strided
 * Least traffic: size(x) + size(y) bytes. 5 rows cols FLOP (maximum, difference, exponential, sum, division). */
#include <math.h>

#include "cuda/rows/cases.h"
#include "model/row_temporary.h"
#include "online_softmax.h"
#include "peer/onednn.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(online_softmax_cpu_baseline);
RIDGE_CPU_DECLARE(online_softmax_cpu_optimized);
RIDGE_CUDA_DECLARE(online_softmax_cuda_baseline);
RIDGE_CUDA_DECLARE(online_softmax_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 2048}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 2048}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {5, ROW_REDUCE_PIECE + 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {2, SOFTMAX_KEPT}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, SOFTMAX_KEPT + 3}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {2111, 2113},
     .dtype = RIDGE_F32,
     .edge = true}, /* large enough for streaming stores; rows share cache lines */
    {.dim = {1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {3, SOFTMAX_KEPT + 3}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {3001, 3001}, .dtype = RIDGE_BF16, .edge = true},
    ROW_CUDA_CASES,
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

/* The maximum reads x; the exponential reads x and writes; the sum reads; the division reads and writes y. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = 2.0 * x + 2.0 * temporary, .written = temporary + x};
}
/* Kept bf16 rows that do not end on line boundaries are written by ordinary stores. */
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    bool kept = c->dim[1] <= SOFTMAX_KEPT, streamed = !kept || c->dtype == RIDGE_F32 || c->dim[1] % 32 == 0;
    *t = (ridge_traffic){.read = (kept ? 1.0 : 2.0) * tensor_bytes(c)};
    *(streamed ? &t->streamed : &t->written) = tensor_bytes(c);
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]) + (size_t)c->dim[0] * sizeof(float);
}
static size_t optimized_scratch(const ridge_case *c, int threads) {
    return c->dim[1] > SOFTMAX_KEPT ? 0 : (size_t)threads * (size_t)row_pair_length(c->dim[1]) * sizeof(float);
}

/* GPU: reads x twice, writes the exponentials once and reads them twice, writes y. No write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2.0 * tensor_bytes(c) + 8.0 * elements(c),
                         .streamed = 4.0 * elements(c) + tensor_bytes(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t =
        (ridge_traffic){.read = (c->dim[1] > ROW_CUDA_HELD ? 2.0 : 1.0) * tensor_bytes(c), .streamed = tensor_bytes(c)};
}
static size_t cuda_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]) + 2 * (size_t)c->dim[0] * sizeof(float);
}

static const row_traits traits = ONLINE_SOFTMAX_ROWS;
static const ridge_way ways[] = {
    ROW_WAYS_STAGED(online_softmax_cuda_optimized, &traits), ROW_WAYS_SHORT(online_softmax_cuda_optimized, &traits),
    ROW_WAYS_SPREAD(online_softmax_cuda_optimized, &traits), ROW_WAYS_BLOCK(online_softmax_cuda_optimized, &traits),
    ROW_WAYS_LONG(online_softmax_cuda_optimized, &traits),
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "maximum, exponential, sum, division: four passes over memory",
     .run = RIDGE_CPU(online_softmax_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "running maximum and normalizer by blocks in L1, one exponential an element; streaming "
             "stores once the operands exceed 16 MiB",
     .run = RIDGE_CPU(online_softmax_cpu_optimized),
     .traffic = optimized_traffic,
     .scratch = optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "maximum, exponential, sum, division: four kernels through memory",
     .run = RIDGE_CUDA(online_softmax_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = cuda_baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers, each thread's maximum and sum merged in one exchange, up to a cluster of 16 blocks: "
             "one read, one write",
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "oneDNN's softmax primitive",
     .run = RIDGE_ANY_ISA(online_softmax_onednn),
     .unavailable = online_softmax_onednn_unavailable,
     .prepare = online_softmax_prepare_onednn,
     .release = onednn_plan_destroy,
     .own_threads = true},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 5.0 * elements(c), .bytes_read = tensor_bytes(c), .bytes_written = tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols, max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < cols; j++) max = x[j] > max ? x[j] : max;
        for (int64_t j = 0; j < cols; j++) sum += y[j] = exp(x[j] - max);
        for (int64_t j = 0; j < cols; j++) y[j] /= sum;
    }
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24, spread = 2.0 * call->in_max[0];
    double narrowing = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype);
    b->relative = narrowing + u * (9.0 + 2.0 * fmin(spread, 105.0) + row_sum_error(call->dim[1]));
}

const ridge_target ridge_target_online_softmax = {
    .name = "online_softmax",
    .chapter = "ch09",
    .summary = "softmax of each row",
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
