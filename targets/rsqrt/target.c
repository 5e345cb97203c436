/* reps times: x becomes x / sqrt(1 + x^2)      x, y: [rows, cols], f32, bf16 or f16, rows possibly strided
 * In exact arithmetic y = x / sqrt(1 + reps x^2). 4 reps rows cols FLOP (fused multiply-add, root, quotient) over
 * size(x) + size(y) bytes: bandwidth-bound with one repetition, compute-bound with many. GPU only. */
#include "ridge/target.h"

#include <math.h>

RIDGE_CUDA_DECLARE(rsqrt_cuda_baseline);
RIDGE_CUDA_DECLARE(rsqrt_cuda_optimized);

#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {.dim = {32768, 4096, 1}, .dtype = RIDGE_F32, GPU},
    {.dim = {32768, 4096, 1}, .dtype = RIDGE_BF16, GPU},
    {.dim = {8192, 4096, 64}, .dtype = RIDGE_F32, GPU},
    {.dim = {8192, 4096, 64}, .dtype = RIDGE_F16, GPU},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {0, 64, 3}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {3, 15, 0}, .dtype = RIDGE_F32, .edge = true, GPU}, /* no repetition: a copy */
    {.dim = {7, 1031, 1}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {5, 2053, 17}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {5, 31, 2}, .dtype = RIDGE_BF16, .edge = true, GPU},
    {.dim = {7, 1031, 3}, .dtype = RIDGE_BF16, .edge = true, GPU},
    {.dim = {1, 1, 5}, .dtype = RIDGE_F16, .edge = true, GPU},
    {.dim = {7, 1031, 1}, .dtype = RIDGE_F16, .edge = true, GPU},
    {.dim = {3, 16411, 2}, .dtype = RIDGE_F16, .edge = true, GPU}, /* several warp tiles per row */
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c), .streamed = tensor_bytes(c)};
}

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a root and a quotient, both correctly rounded",
     .run = RIDGE_CUDA(rsqrt_cuda_baseline),
     .traffic = traffic},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "the machine's reciprocal root and a product",
     .run = RIDGE_CUDA(rsqrt_cuda_optimized),
     .traffic = traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 4.0 * (double)c->dim[2] * elements(c),
                      .bytes_read = tensor_bytes(c),
                      .bytes_written = tensor_bytes(c)};
}

/* By repetition, so that an infinity becomes NaN, as it does in the kernels. */
static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) {
        double x = call->in[0][k];
        for (int64_t r = 0; r < call->dim[2]; r++) x /= sqrt(1.0 + x * x);
        call->out[0][k] = x;
    }
}

/* Derived in README.md for both variants: at most 5.5 roundings per repetition. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    double reps = (double)call->dim[2];
    b->relative = 5.5 * reps * 0x1p-24 + narrowing(call->dtype);
}

static const char *reject(const ridge_case *c) {
    if (c->dim[1] < 1) return "cols must be at least 1";
    return c->dim[2] > 4096 ? "reps must be at most 4096" : NULL;
}

const ridge_target ridge_target_rsqrt = {
    .name = "rsqrt",
    .chapter = "ch09",
    .summary = "divide by a root against multiply by its reciprocal",
    .dims = {"rows", "cols", "reps"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .large = 0x1p10, /* representable in all storage types; its square is far from overflow */
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
