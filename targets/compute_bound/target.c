/* y[i,j] = c[0] + c[1] x + c[2] x^2 + … + c[terms-1] x^(terms-1),  x = x[i,j]      x, y: [rows, cols] f32; c: [terms]
 * f32 2 (terms-1) rows cols FLOP over 8 rows cols + 4 terms bytes: terms/4 FLOP/byte, compute-bound from about 50 terms
 * on. */
#include "ridge/target.h"

#include <math.h>

RIDGE_CPU_DECLARE(compute_bound_cpu_baseline);
RIDGE_CPU_DECLARE(compute_bound_cpu_optimized);
RIDGE_CUDA_DECLARE(compute_bound_cuda_baseline);
RIDGE_CUDA_DECLARE(compute_bound_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {512, 1024, 256}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 8192, 256}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64, 8}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 5, 2}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 17, 3}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031, 17}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {2, 192, 64}, .dtype = RIDGE_F32, .edge = true},  /* a whole number of blocks */
    {.dim = {5, 383, 100}, .dtype = RIDGE_F32, .edge = true}, /* one element short of it */
    {.dim = {1, 50021, 31}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1021, 4099},
     .dtype = RIDGE_F32,
     .edge = true,
     .only = RIDGE_ONLY_CUDA}, /* more terms than are staged in shared memory */
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
                                       {.name = "c", .rank = 1, .dim = {2}}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a plain loop over elements: one vector's chain of dependent multiply-adds at a time",
     .run = RIDGE_CPU(compute_bound_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "twelve vectors in flight, their chains interleaved to cover the latency of a multiply-add",
     .run = RIDGE_CPU(compute_bound_cpu_optimized)},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a thread an element: one chain, a coefficient from memory for every multiply-add",
     .run = RIDGE_CUDA(compute_bound_cuda_baseline)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea =
         "sixteen chains a thread, coefficients broadcast from shared memory four at a time, the next tile under way",
     .run = RIDGE_CUDA(compute_bound_cuda_optimized)},
};

static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1], terms = (double)c->dim[2];
    *w = (ridge_work){.flops = 2 * (terms - 1) * n, .bytes_read = 4 * (n + terms), .bytes_written = 4 * n};
}

static void oracle(const ridge_oracle_call *call) {
    int64_t n = call->dim[0] * call->dim[1], terms = call->dim[2];
    const double *c = call->in[1];
    for (int64_t i = 0; i < n; i++) {
        double x = call->in[0][i], p = c[terms - 1];
        for (int64_t k = terms - 2; k >= 0; k--) p = p * x + c[k];
        call->out[0][i] = p;
    }
}

/* Derived in README.md: rounding errors of the partial sums of a random polynomial near |x| = 1. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    double n = (double)call->dim[2], x = fmax(call->in_max[0], 1), unit = 0x1p-24;
    if (kind == RIDGE_EXACT)
        *b = (ridge_bound){0};
    else
        *b = (ridge_bound){.absolute = 4 * unit * (2 + n / 2) * call->in_max[1] * pow(x, n - 1), .relative = 4 * unit};
}

static const char *reject(const ridge_case *c) {
    if (c->dim[1] < 1) return "cols must be at least 1";
    if (c->dim[2] < 1) return "terms must be at least 1";
    return c->dtype == RIDGE_F32 ? NULL : "only f32: the operation is compute bound, so storage does not matter";
}

const ridge_target ridge_target_compute_bound = {
    .name = "compute_bound",
    .chapter = "ch09",
    .summary = "a polynomial of many terms at every element",
    .dims = {"rows", "cols", "terms"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .exact = 1, /* powers of -1, 0 and 1 are integers; sums of up to 2^24 of them are exact */
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
