/* y = mean over k < reps of bf16(relu(x + b[k])), b[k] = (2k+1)/reps - 1      x, y: [rows, cols], bf16, rows possibly
 * strided. With one repetition y = relu(x). reps (addition, select, addition) + 1 FLOP an element over 4 bytes:
 * bandwidth-bound with one repetition, compute-bound with many. GPU only. */
#include "ridge/target.h"

#include <math.h>

RIDGE_CUDA_DECLARE(inline_ptx_cuda_baseline);
RIDGE_CUDA_DECLARE(inline_ptx_cuda_optimized);

#define GPU .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {.dim = {65536, 4096, 1}, GPU},
    {.dim = {16384, 4096, 64}, GPU},
    {.dim = {1, 1, 1}, .edge = true, GPU},
    {.dim = {0, 64, 2}, .edge = true, GPU},
    {.dim = {3, 15, 1}, .edge = true, GPU},
    {.dim = {5, 31, 3}, .edge = true, GPU},
    {.dim = {7, 1031, 1}, .edge = true, GPU},
    {.dim = {7, 1031, 16}, .edge = true, GPU},
    {.dim = {3, 16411, 5}, .edge = true, GPU}, /* several warp tiles per row */
    {.dim = {257, 263, 256}, .edge = true, GPU},
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

static void traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c), .streamed = tensor_bytes(c)};
}

static const ridge_variant variants[] = {
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "clamp each of two numbers, then round and pack them: what the compiler makes of the C expression",
     .run = RIDGE_CUDA(inline_ptx_cuda_baseline),
     .traffic = traffic},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "cvt.rn.relu.bf16x2.f32: one instruction clamps, rounds and packs two",
     .run = RIDGE_CUDA(inline_ptx_cuda_optimized),
     .traffic = traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = (3.0 * (double)c->dim[2] + 1.0) * elements(c),
                      .bytes_read = tensor_bytes(c),
                      .bytes_written = tensor_bytes(c)};
}

/* relu, rounded to bf16. */
static double rounded_relu(double v) { return isnan(v) ? v : ridge_rounded(RIDGE_BF16, v > 0.0 ? v : 0.0); }

/* b[k] is computed in fp32, as in the kernels. */
static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[0] * call->dim[1], reps = call->dim[2];
    const float spacing = 2.0f / (float)reps;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < reps; k++)
            sum += rounded_relu(call->in[0][i] + (double)fmaf((float)k + 0.5f, spacing, -1.0f));
        call->out[0][i] = sum / (double)reps;
    }
}

/* Derived in README.md: rounding of the sum, whose terms are non-negative, and of the result. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    b->relative = ((double)call->dim[2] + 2.0) * 0x1p-24 + ridge_dtype_roundoff(RIDGE_BF16);
}

static const char *reject(const ridge_case *c) {
    if (c->dim[1] < 1) return "cols must be at least 1";
    if (c->dim[2] < 1 || c->dim[2] > 256) return "reps must be between 1 and 256";
    return c->dtype == RIDGE_BF16 ? NULL : "only bf16: it is the conversion to bf16 that is looked at";
}

const ridge_target ridge_target_inline_ptx = {
    .name = "inline_ptx",
    .chapter = "ch09",
    .summary = "clamp, round and pack: an instruction C has no word for",
    .dims = {"rows", "cols", "reps"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
