/* y = gelu((x - mean) r gamma + beta), r = 1 / sqrt(var + eps), gelu(h) = h (1 + erf(h / sqrt 2)) / 2
 * x [rows, cols], gamma, beta [cols], y [rows, cols]; f32, bf16 or f16, rows possibly strided; eps = 1e-5
 * Least traffic: size(x) + size(y) + the parameters. 11 rows cols FLOP (mean 1, variance 3, normalization 4, GELU 3).
 */
#include "norm_activation.h"

#define NORM_PARAMETERS 2
#define NORM_FLOPS 11.0
#define NORM_CENTERED true
#define NORM_SWEEPS 3.0
#include "rows/norm_target.h"

RIDGE_CPU_DECLARE(norm_activation_cpu_baseline);
RIDGE_CPU_DECLARE(norm_activation_cpu_optimized);
RIDGE_CUDA_DECLARE(norm_activation_cuda_baseline);
RIDGE_CUDA_DECLARE(norm_activation_cuda_optimized);

static const ridge_case cases[] = {NORM_CASES};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "gamma", .rank = 1, .dim = {1}},
    {.name = "beta", .rank = 1, .dim = {1}},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static void onednn_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2.0 * tensor_bytes(c) + parameter_bytes(c), .written = 2.0 * tensor_bytes(c)};
}

static const row_traits traits = NORM_ACTIVATION_ROWS;
static const ridge_way ways[] = {
    ROW_WAYS_MANY(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_SHORT(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_FILLED(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_SPREAD(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_BLOCK(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_PERSISTENT(norm_activation_cuda_optimized, &traits),
    ROW_WAYS_LONG(norm_activation_cuda_optimized, &traits),
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "layer norm, then GELU: the normalized values go through memory",
     .run = RIDGE_CPU(norm_activation_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea =
         "one pass over memory: row in cache for its statistics, activation in registers; streaming stores once the "
         "operands exceed 16 MiB",
     .run = RIDGE_CPU(norm_activation_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "layer norm, then GELU: two kernels, the normalized values go through memory",
     .run = RIDGE_CUDA(norm_activation_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers between its statistics and its activation, of one warp to a cluster of 16 blocks: one "
             "read, one write",
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "oneDNN's layer normalization, then its GELU in place",
     .run = RIDGE_ANY_ISA(norm_activation_onednn),
     .traffic = onednn_traffic,
     .unavailable = norm_activation_onednn_unavailable,
     .prepare = norm_activation_prepare_onednn,
     .release = norm_activation_release_onednn,
     .own_threads = true},
};

/* Largest error of a row's (x - mean) / deviation in units of u. Derived in README.md. */
static double centering_error(const ridge_oracle_call *call, const statistics *s) {
    const double walk = row_sum_error(call->dim[1]), scaled = s->largest * s->inverse;
    const double mean = (s->largest + fabs(s->mean)) * s->inverse * (2.0 + 0.25 * walk);
    const double shift = 0.25 * (scaled + 0.25) * (1.0 + 0.25 * walk); /* of the shifted sum, squared */
    return scaled * (5.0 + walk + shift) + mean;                       /* variance, difference, products */
}

/* Additional error of the kernels for 16-bit storage, in units of u: 2^-16 and 2^-15.6. */
#define SHORT_STATISTICS 256.0
#define SHORT_GELU 338.0

static double short_error(const ridge_oracle_call *call, const statistics *s) {
    return call->dtype == RIDGE_F32 ? 0.0 : SHORT_STATISTICS * (s->largest * s->inverse + 1.0);
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    const double *gamma = call->in[1], *beta = call->in[2];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols;
        statistics s = statistics_of(x, cols);
        const double error = 0x1p-24 * (centering_error(call, &s) + short_error(call, &s));
        for (int64_t j = 0; j < cols; j++) {
            const double h = norm_weighted((x[j] - s.mean) * s.inverse, error, gamma[j], beta[j]);
            y[j] = ridge_is_undecided(h) ? h : 0.5 * h * (1.0 + erf(h * sqrt(0.5)));
        }
    }
}

static double norm_row_error(const ridge_oracle_call *call, const double *x) {
    statistics s = statistics_of(x, call->dim[1]);
    double gamma = call->in_max[1], h = s.largest * s.inverse * gamma + call->in_max[2];
    double error = 1.13 * (centering_error(call, &s) * gamma + h) + 5.0 * h; /* slope of GELU; vf_gelu */
    if (call->dtype != RIDGE_F32) error += short_error(call, &s) * gamma + SHORT_GELU * h;
    return error;
}

const ridge_target ridge_target_norm_activation = {
    .name = "norm_activation",
    .chapter = "ch09",
    .summary = "layer norm, then GELU",
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
