/* y = a x + b, x and y in host memory; a = 1.5, b = 0.25      x, y: [rows, cols], f32, bf16 or f16, rows
 * possibly strided. 2 rows cols FLOP, size(x) + size(y) bytes of device memory; the limit is the link between host and
 * device, which both tensors cross. GPU only. */
#include "unified_memory.h"

RIDGE_CUDA_DECLARE(unified_memory_cuda_managed);
RIDGE_CUDA_DECLARE(unified_memory_cuda_prefetch);
RIDGE_CUDA_DECLARE(unified_memory_cuda_copy);
RIDGE_CUDA_DECLARE(unified_memory_cuda_overlap);

#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {.dim = {16384, 1024}, .dtype = RIDGE_F32, GPU}, /* 64 MiB each way */
    {.dim = {1024, 1024}, .dtype = RIDGE_F32, GPU},  /* 4 MiB */
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {0, 64}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {7, 1031}, .dtype = RIDGE_F32, .edge = true, GPU},
    {.dim = {1021, 1031}, .dtype = RIDGE_F32, .edge = true, GPU}, /* more than one chunk */
    {.dim = {1, 1048583}, .dtype = RIDGE_F32, .edge = true, GPU}, /* chunks within a row */
    {.dim = {5, 31}, .dtype = RIDGE_BF16, .edge = true, GPU},
    {.dim = {1423, 1427}, .dtype = RIDGE_BF16, .edge = true, GPU},
    {.dim = {7, 1031}, .dtype = RIDGE_F16, .edge = true, GPU},
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

/* Device memory: x arrives and is read; y is written and copied back. */
static void traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2.0 * tensor_bytes(c), .streamed = 2.0 * tensor_bytes(c)};
}

static size_t scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * unified_memory_area(c->dim, c->dtype);
}

static const ridge_variant variants[] = {
    {.name = "cuda/managed",
     .role = RIDGE_BASELINE,
     .idea = "managed memory: pages come when the kernel faults on them, and go back when the processor does",
     .run = RIDGE_CUDA(unified_memory_cuda_managed),
     .traffic = traffic,
     .prepare = RIDGE_CUDA_PLAN(unified_memory_managed_prepare),
     .where = RIDGE_IN_MANAGED,
     .no_graph = true},
    {.name = "cuda/managed_prefetch",
     .role = RIDGE_BASELINE,
     .idea = "managed memory, moved by prefetches: to the device before the kernel, back after it",
     .run = RIDGE_CUDA(unified_memory_cuda_prefetch),
     .traffic = traffic,
     .prepare = RIDGE_CUDA_PLAN(unified_memory_managed_prepare),
     .where = RIDGE_IN_MANAGED,
     .no_graph = true},
    {.name = "cuda/pageable",
     .role = RIDGE_BASELINE,
     .idea = "copies from and to ordinary memory, which the driver stages through pinned buffers of its own",
     .run = RIDGE_CUDA(unified_memory_cuda_copy),
     .traffic = traffic,
     .scratch = scratch,
     .where = RIDGE_IN_HOST_PAGEABLE,
     .no_graph = true},
    {.name = "cuda/pinned",
     .role = RIDGE_BASELINE,
     .idea = "copies from and to pinned memory: one there, one back",
     .run = RIDGE_CUDA(unified_memory_cuda_copy),
     .traffic = traffic,
     .scratch = scratch,
     .where = RIDGE_IN_HOST_PINNED},
    {.name = "cuda/pinned_overlap",
     .role = RIDGE_OPTIMIZED,
     .idea = "pinned memory in chunks on two streams: one chunk goes back while the next arrives",
     .run = RIDGE_CUDA(unified_memory_cuda_overlap),
     .traffic = traffic,
     .scratch = scratch,
     .prepare = RIDGE_CUDA_PLAN(unified_memory_overlap_prepare),
     .release = RIDGE_CUDA_PLAN(unified_memory_overlap_release),
     .where = RIDGE_IN_HOST_PINNED,
     .no_graph = true},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 2.0 * elements(c), .bytes_read = tensor_bytes(c), .bytes_written = tensor_bytes(c)};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++)
        call->out[0][k] = (double)UNIFIED_MEMORY_A * call->in[0][k] + (double)UNIFIED_MEMORY_B;
}

/* One fused operation rounds once; 16-bit storage rounds again. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    b->relative = 0x1p-24 * 1.01 + (call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype));
}

static const char *reject(const ridge_case *c) {
    if (c->dim[1] < 1) return "cols must be at least 1";
    return tensor_bytes(c) > 0x1p28 ? "a tensor may have at most 256 MiB: managed memory is taken with care" : NULL;
}

const ridge_target ridge_target_unified_memory = {
    .name = "unified_memory",
    .chapter = "ch09",
    .summary = "a host array through a kernel and back: five ways to move it",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .large = 0x1p10,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
