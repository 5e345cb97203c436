/* y[i,:] = x[i,:] - mean(x[i,:])      x, y: [rows, cols] row-major, f32
 * Least traffic: size(x) + size(y) bytes. 2 rows cols FLOP. Memory bound on every machine known. */
#include "ridge/target.h"

RIDGE_CPU_DECLARE(center_rows_cpu_baseline);
RIDGE_CPU_DECLARE(center_rows_cpu_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 1024}, .dtype = RIDGE_F32},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {13, 1021}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 8}, .dtype = RIDGE_F32, .edge = true},
};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

/* The baseline keeps one mean a row in scratch and reads x twice. */
static size_t mean_bytes(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[0] * sizeof(double);
}

static void two_reads(const ridge_case *c, ridge_traffic *t) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *t = (ridge_traffic){.read = 8 * n, .written = 4 * n};
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "all means, then all differences: x comes from memory twice",
     .run = RIDGE_CPU(center_rows_cpu_baseline),
     .traffic = two_reads,
     .scratch = mean_bytes},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row by row: the second pass finds the row in cache",
     .run = RIDGE_CPU(center_rows_cpu_optimized)},
};

static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.flops = 2 * n, .bytes_read = 4 * n, .bytes_written = 4 * n};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0, cols = call->dim[1]; i < call->dim[0]; i++) {
        const double *x = call->in[0] + i * cols;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) sum += x[j];
        for (int64_t j = 0; j < cols; j++) call->out[0][i * cols + j] = x[j] - sum / (double)cols;
    }
}

/* One rounding to f32, and the errors of two fp64 sums that need not agree in their order. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    *b = (ridge_bound){.absolute = (double)call->dim[1] * 0x1p-52 * call->in_max[0], .relative = 0x1p-24};
}

static const char *reject(const ridge_case *c) {
    if (c->dtype != RIDGE_F32) return "only f32";
    return c->dim[1] < 1 ? "cols must be at least 1" : NULL;
}

const ridge_target ridge_target_center_rows = {
    .name = "center_rows",
    .chapter = "example",
    .summary = "subtract from every row its mean",
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
