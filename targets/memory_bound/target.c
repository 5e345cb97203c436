/* y = clamp(a x + b, -1, 1) + z      x, z, y: [rows, cols], f32, bf16 or (GPU) f16, rows possibly strided; a = 1.5, b =
 * 0.25 Least traffic: size(x) + size(z) + size(y) bytes. 5 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "memory_bound.h"

#include <math.h>

#include "model/row_temporary.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(memory_bound_cpu_baseline);
RIDGE_CPU_DECLARE(memory_bound_cpu_optimized);
RIDGE_CUDA_DECLARE(memory_bound_cuda_baseline);
RIDGE_CUDA_DECLARE(memory_bound_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 2048}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 2048}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {32768, 4096}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {.dim = {32768, 4096}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {32768, 4096}, .dtype = RIDGE_F16, .only = RIDGE_ONLY_CUDA},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1423, 1427},
     .dtype = RIDGE_F32,
     .edge = true}, /* large enough for streaming stores; rows share cache lines */
    {.dim = {1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {2111, 2113}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {1, 1}, .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {5, 31}, .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {7, 1031}, .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {3, 16411}, .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA}, /* several warp tiles per row */
    {.dim = {3, 16411}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    /* Narrow rows over several blocks. Padded by a multiple of a vector they are vectors, else single elements. */
    {.dim = {517, 16}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {517, 24}, .dtype = RIDGE_BF16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {263, 13}, .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {1031, 1}, .dtype = RIDGE_BF16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {9, 256}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* the widest single elements */
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "z", .rank = 2, .dim = {0, 1}, .by_row = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0) | RIDGE_IN_PLACE_OF(1)}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

/* Reads x, writes t; reads t, writes a second temporary; reads that and z, writes y. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = 2.0 * x + 2.0 * temporary, .written = 2.0 * temporary + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2.0 * tensor_bytes(c), .streamed = tensor_bytes(c)};
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * row_temporary_bytes(c->dim[0], c->dim[1]);
}

/* No write-allocation on a GPU: every store counts once. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0.0;
}

static size_t cuda_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * (size_t)c->dim[0] * (size_t)c->dim[1] * sizeof(float);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scale, clamp, add: three passes, two temporaries in memory",
     .run = RIDGE_CPU(memory_bound_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass; streaming stores once the operands exceed 16 MiB",
     .run = RIDGE_CPU(memory_bound_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scale, clamp, add: three kernels, two temporaries in memory",
     .run = RIDGE_CUDA(memory_bound_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = cuda_baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: 16-byte loads, four in flight a thread, streaming stores",
     .run = RIDGE_CUDA(memory_bound_cuda_optimized),
     .traffic = optimized_traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w =
        (ridge_work){.flops = 5.0 * elements(c), .bytes_read = 2.0 * tensor_bytes(c), .bytes_written = tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    const double *x = call->in[0], *z = call->in[1];
    double *y = call->out[0];
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) {
        double t = (double)MEMORY_BOUND_A * x[k] + (double)MEMORY_BOUND_B;
        t = t > 1.0 ? 1.0 : t < -1.0 ? -1.0 : t; /* NaN stays */
        y[k] = t + z[k];
    }
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24;
    b->absolute = 2.25 * u * (1.0 + narrowing(call->dtype)); /* |a x| <= 1.25 and |t| <= 1 where the clamp passes t */
    b->relative = u + narrowing(call->dtype);
}

const ridge_target ridge_target_memory_bound = {
    .name = "memory_bound",
    .chapter = "ch09",
    .summary = "scale, clamp and add: elementwise passes",
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
