/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps)      x, y: [rows, cols], f32 or bf16, rows possibly strided; eps = 1e-12
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP. Memory bound on every machine known. */
#include "ridge/target.h"

#include <math.h>

RIDGE_CPU_DECLARE(l2norm_cpu_baseline);
RIDGE_CPU_DECLARE(l2norm_cpu_optimized);

static const ridge_case cases[] = {
    {.dim = {16384, 1024}, .dtype = RIDGE_F32},
    {.dim = {16384, 1024}, .dtype = RIDGE_BF16},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "square, reduce, scale: three passes over memory",
     .run = RIDGE_CPU(l2norm_cpu_baseline)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "row stays in cache between reduce and scale",
     .run = RIDGE_CPU(l2norm_cpu_optimized)},
};

static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1], bytes = n * (double)ridge_dtype_size(c->dtype);
    *w = (ridge_work){.flops = 3 * n, .bytes_read = bytes, .bytes_written = bytes};
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[0], cols = call->dim[1];
    for (int64_t i = 0; i < rows; i++) {
        const double *x = call->in[0] + i * cols;
        double *y = call->out[0] + i * cols, sum = 0;
        for (int64_t j = 0; j < cols; j++) sum += x[j] * x[j];
        double norm = fmax(sqrt(sum), 1e-12);
        for (int64_t j = 0; j < cols; j++) y[j] = x[j] / norm;
    }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    b->absolute = 1e-30;
    b->relative = ridge_dtype_roundoff(call->dtype) + 0x1p-24 * (4 + 0.5 * sqrt((double)call->dim[1]));
}

const ridge_target ridge_target_fused_l2norm = {
    .name = "fused_l2norm", .chapter = "ch09", .summary = "row-wise L2 normalization", .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases), .in = RIDGE_LIST(in), .out = RIDGE_LIST(out), .variants = RIDGE_LIST(variants),
    .work = work, .oracle = oracle, .bound = bound,
};
