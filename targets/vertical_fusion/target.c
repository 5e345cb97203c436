/* y = sqrt(2 + sin x)      x, y: [rows, cols], f32, bf16 or (GPU) f16, rows possibly strided
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP (sine, addition, root). */
#include <math.h>

#include "model/row_temporary.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(vertical_fusion_cpu_baseline);
RIDGE_CPU_DECLARE(vertical_fusion_cpu_optimized);
RIDGE_CUDA_DECLARE(vertical_fusion_cuda_baseline);
RIDGE_CUDA_DECLARE(vertical_fusion_cuda_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 2048}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {8192, 2048}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {.dim = {65536, 4096}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA}, /* 2^28 */
    {.dim = {65536, 4096}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {2111, 2113},
     .dtype = RIDGE_F32,
     .edge = true}, /* large enough for streaming stores; rows share cache lines */
    {.dim = {1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {7, 1031}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {3001, 3001}, .dtype = RIDGE_BF16, .edge = true},
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
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = x + temporary, .written = temporary + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c), .streamed = tensor_bytes(c)};
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]);
}

/* No write-allocation on a GPU: every store counts once. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0.0;
}

static size_t cuda_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[0] * (size_t)c->dim[1] * sizeof(float);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "sine to memory, then the root",
     .run = RIDGE_CPU(vertical_fusion_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one loop, the sine stays in a register; streaming stores once the operands exceed 16 MiB",
     .run = RIDGE_CPU(vertical_fusion_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel of sines to memory, then one of roots",
     .run = RIDGE_CUDA(vertical_fusion_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = cuda_baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one kernel, the sine stays in a register; 16-byte loads, four in flight a thread, streaming stores",
     .run = RIDGE_CUDA(vertical_fusion_cuda_optimized),
     .traffic = optimized_traffic},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 3.0 * elements(c), .bytes_read = tensor_bytes(c), .bytes_written = tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) call->out[0][k] = sqrt(2.0 + sin(call->in[0][k]));
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    b->absolute = 0.0; /* no result is below 1 */
    b->relative = 3.0 * 0x1p-24 + narrowing(call->dtype);
}

const ridge_target ridge_target_vertical_fusion = {
    .name = "vertical_fusion",
    .chapter = "ch09",
    .summary = "sine, then square root: two operations that follow each other",
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
