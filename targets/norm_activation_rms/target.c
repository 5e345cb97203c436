/* y = silu(r x gamma), r = 1 / sqrt(mean(x^2) + eps), silu(h) = h / (1 + exp(-h))
 * x [rows, cols], gamma [cols], y [rows, cols]; f32, bf16 or f16, rows possibly strided; eps = 1e-5
 * Least traffic: size(x) + size(y) + the parameters. 7 rows cols FLOP (squares 2, products 2, exponential, sum,
 * division). */
#include "norm_activation_rms.h"

#include <math.h>

#include "cpu/row_temporary.h"
#include "cuda/rows/cases.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(norm_activation_rms_cpu_baseline);
RIDGE_CPU_DECLARE(norm_activation_rms_cpu_optimized);
RIDGE_CUDA_DECLARE(norm_activation_rms_cuda_baseline);
RIDGE_CUDA_DECLARE(norm_activation_rms_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 2048}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 2048}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1000003}, .dtype = RIDGE_F32, .edge = true}, /* larger than L2 */
    {.dim = {2111, 2113},
     .dtype = RIDGE_F32,
     .edge = true}, /* large enough for streaming stores; rows share cache lines */
    {.dim = {1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {3001, 3001}, .dtype = RIDGE_BF16, .edge = true},
    ROW_CUDA_CASES,
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "gamma", .rank = 1, .dim = {1}},

};
enum { PARAMETERS = 1 };
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double parameter_bytes(const ridge_case *c) {
    return PARAMETERS * (double)c->dim[1] * (double)ridge_dtype_size(c->dtype);
}

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = x + parameter_bytes(c) + temporary, .written = temporary + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c) + parameter_bytes(c), .streamed = tensor_bytes(c)};
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]);
}

/* GPU: reads x, writes and reads the normalized values, writes y. No write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c) + parameter_bytes(c) + 4.0 * elements(c),
                         .streamed = 4.0 * elements(c) + tensor_bytes(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    double x = (c->dim[1] > ROW_CUDA_HELD ? 2.0 : 1.0) * tensor_bytes(c);
    *t = (ridge_traffic){.read = x + parameter_bytes(c), .streamed = tensor_bytes(c)};
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "RMS norm, then SiLU: the normalized values go through memory",
     .run = RIDGE_CPU(norm_activation_rms_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea =
         "one pass over memory: row in cache for its statistics, activation in registers; streaming stores once the "
         "operands exceed 16 MiB",
     .run = RIDGE_CPU(norm_activation_rms_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "RMS norm, then SiLU: two kernels, the normalized values go through memory",
     .run = RIDGE_CUDA(norm_activation_rms_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers between its statistic and its activation, of one warp to a cluster of 16 blocks: one "
             "read, one write",
     .run = RIDGE_CUDA(norm_activation_rms_cuda_optimized),
     .traffic = cuda_optimized_traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 7.0 * elements(c),
                      .bytes_read = tensor_bytes(c) + parameter_bytes(c),
                      .bytes_written = tensor_bytes(c)};
}

typedef struct statistics {
    double mean, inverse, largest; /* largest |x - mean| */
} statistics;

static statistics statistics_of(const double *x, int64_t n) {
    statistics s = {0.0, 0.0, 0.0};
    double squares = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double d = x[j] - s.mean;
        squares += d * d;
        s.largest = fmax(s.largest, fabs(d));
    }
    s.inverse = 1.0 / sqrt(squares / (double)n + (double)NORM_EPS);
    return s;
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    const double *gamma = call->in[1];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols, inverse = statistics_of(x, cols).inverse;
        for (int64_t j = 0; j < cols; j++) {
            double h = x[j] * inverse * gamma[j];
            y[j] = h / (1.0 + exp(-h));
        }
    }
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

/* Additional error of tensor cores with 16-bit operands, in units of u, relative to h. */
#define SHORT_ROOT 16.0

/* Derived in README.md: the largest error of h over the given rows, propagated through the activation. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24, walk = row_sum_error(call->dim[1]);
    double narrowing = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype), worst = 0.0;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        statistics s = statistics_of(call->in[0] + i * call->dim[1], call->dim[1]);
        double h = s.largest * s.inverse * call->in_max[1];
        double error = h * (4.0 + walk); /* root of the sum, products */
        if (call->dtype != RIDGE_F32) error += SHORT_ROOT * h;
        error = 1.1 * error + 3.0 * h; /* slope of SiLU; vf_silu */
        if (error > worst) worst = error;
    }
    b->absolute = u * worst * (1.0 + narrowing);
    if (call->dtype == RIDGE_F16) b->absolute += 0x1p-25; /* half of the least f16 value, for denormal results */
    b->relative = u + narrowing;
}

const ridge_target ridge_target_norm_activation_rms = {
    .name = "norm_activation_rms",
    .chapter = "ch09",
    .summary = "RMS norm, then SiLU",
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
