/* y = silu(r x gamma), r = 1 / sqrt(mean(x^2) + eps), silu(h) = h / (1 + exp(-h))
 * x [rows, cols], gamma [cols], y [rows, cols]; f32, bf16 or f16, rows possibly strided; eps = 1e-5
 * Least traffic: size(x) + size(y) + the parameters. 7 rows cols FLOP (squares 2, products 2, exponential, sum,
 * division). */
#include "norm_activation_rms.h"

#define NORM_PARAMETERS 1
#define NORM_FLOPS 7.0
#define NORM_CENTERED false
#define NORM_SWEEPS 2.0
#include "rows/norm_target.h"

RIDGE_CPU_DECLARE(norm_activation_rms_cpu_baseline);
RIDGE_CPU_DECLARE(norm_activation_rms_cpu_optimized);
RIDGE_CUDA_DECLARE(norm_activation_rms_cuda_baseline);
RIDGE_CUDA_DECLARE(norm_activation_rms_cuda_optimized);

static const ridge_case cases[] = {NORM_CASES};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "gamma", .rank = 1, .dim = {1}},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static const row_traits traits = NORM_ACTIVATION_RMS_ROWS;
static const ridge_way ways[] = {
    ROW_WAYS_MANY(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_SHORT(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_SPREAD(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_BLOCK(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_PERSISTENT(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_FETCH(norm_activation_rms_cuda_optimized, &traits),
    ROW_WAYS_LONG(norm_activation_rms_cuda_optimized, &traits),
};

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
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
};

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    const double *gamma = call->in[1];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols, inverse = statistics_of(x, cols).inverse;
        for (int64_t j = 0; j < cols; j++) {
            double h = norm_weighted(x[j] * inverse, 0.0, gamma[j], 0.0);
            y[j] = ridge_is_undecided(h) ? h : h / (1.0 + exp(-h));
        }
    }
}

/* Additional error of tensor cores with 16-bit operands, in units of u, relative to h. */
#define SHORT_ROOT 16.0

/* Derived in README.md. */
static double norm_row_error(const ridge_oracle_call *call, const double *x) {
    const double walk = row_sum_error(call->dim[1]);
    statistics s = statistics_of(x, call->dim[1]);
    double h = s.largest * s.inverse * call->in_max[1];
    double error = h * (4.0 + walk); /* root of the sum, products */
    if (call->dtype != RIDGE_F32) error += SHORT_ROOT * h;
    error = 1.1 * error + 3.0 * h; /* slope of SiLU; vf_silu */
    return error;
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
