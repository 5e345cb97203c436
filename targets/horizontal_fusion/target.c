/* square = x^2, relu = max(x, 0), affine = 1.5 x + 0.25      all [rows, cols], f32, bf16 or (GPU) f16, rows possibly
 * strided Least traffic: size(x) + 3 size(y) bytes. 4 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "ridge/target.h"

RIDGE_CPU_DECLARE(horizontal_fusion_cpu_baseline);
RIDGE_CPU_DECLARE(horizontal_fusion_cpu_optimized);
RIDGE_CUDA_DECLARE(horizontal_fusion_cuda_baseline);
RIDGE_CUDA_DECLARE(horizontal_fusion_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 1024}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 1024}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {16384, 4096}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {.dim = {32768, 4096}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1223, 1229},
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

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {
    {.name = "square", .rank = 2, .dim = {0, 1}},
    {.name = "relu", .rank = 2, .dim = {0, 1}},
    {.name = "affine", .rank = 2, .dim = {0, 1}},
};
enum { SQUARE, RELU, AFFINE };

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 3.0 * tensor_bytes(c), .written = 3.0 * tensor_bytes(c)};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c), .streamed = 3.0 * tensor_bytes(c)};
}

/* No write-allocation on a GPU: every store counts once. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0.0;
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a loop for each map: the input is read three times",
     .run = RIDGE_CPU(horizontal_fusion_cpu_baseline),
     .traffic = baseline_traffic},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one loop: the input is read once; streaming stores once the operands exceed 16 MiB",
     .run = RIDGE_CPU(horizontal_fusion_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel for each map: the input is read three times",
     .run = RIDGE_CUDA(horizontal_fusion_cuda_baseline),
     .traffic = cuda_baseline_traffic},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one kernel: the input is read once, by 16-byte loads, four in flight a thread; streaming stores",
     .run = RIDGE_CUDA(horizontal_fusion_cuda_optimized),
     .traffic = optimized_traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w =
        (ridge_work){.flops = 4.0 * elements(c), .bytes_read = tensor_bytes(c), .bytes_written = 3.0 * tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) {
        double x = call->in[0][k];
        call->out[SQUARE][k] = x * x;
        call->out[RELU][k] = x < 0.0 ? 0.0 : x; /* NaN stays */
        call->out[AFFINE][k] = 1.5 * x + 0.25;
    }
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind;
    const double u = 0x1p-24;
    static const double roundings[] = {[SQUARE] = 1.0, [RELU] = 0.0, [AFFINE] = 2.0};
    /* 1.5 x rounds by u |1.5 x| <= u (|y| + 0.25) before the sum. */
    static const double absolute[] = {[SQUARE] = 0.0, [RELU] = 0.0, [AFFINE] = 0.25 * 0x1p-24};
    b->relative = roundings[output] * u + narrowing(call->dtype);
    b->absolute = absolute[output] * (1.0 + narrowing(call->dtype));
}

const ridge_target ridge_target_horizontal_fusion = {
    .name = "horizontal_fusion",
    .chapter = "ch09",
    .summary = "three independent maps over one input",
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
