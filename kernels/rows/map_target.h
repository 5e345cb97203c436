/* A target of elementwise maps that several passes or one make: cases, work, traffic and variants. Included once, by
 * target.c, which has its `in`, `out`, `oracle` and `bound` and defines before
 *
 *   MAP_NAME, MAP_SUMMARY  its name as a token, and a line
 *   MAP_TIMED              cases that are timed: MAP_CASE(rows, cols, type, where), ...
 *   MAP_FLOPS              FLOP an element
 *   MAP_READS              matrices that the baseline's passes read, beside temporaries
 *   MAP_TEMPORARIES        fp32 temporaries of the baseline, each written and read once
 *   MAP_CPU_BASELINE, MAP_CPU_OPTIMIZED, MAP_CUDA_BASELINE, MAP_CUDA_OPTIMIZED   what each variant does */
#include "model/row_temporary.h"
#include "model/token.h"
#include "ridge/target.h"

#define MAP_FN(what) TOKEN_JOIN(MAP_NAME, what)
TOKEN_DECLARE_CPU(MAP_FN(cpu_baseline));
TOKEN_DECLARE_CPU(MAP_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(MAP_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(MAP_FN(cuda_optimized));

#define MAP_CASE(rows, cols, type, where) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .only = RIDGE_ONLY_##where }
#define MAP_EDGE(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .edge = true }
#define MAP_CUDA(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .edge = true, .only = RIDGE_ONLY_CUDA }
static const ridge_case cases[] = {
    MAP_TIMED, MAP_EDGE(1, 1, F32), MAP_EDGE(0, 64, F32), MAP_EDGE(3, 15, F32), MAP_EDGE(7, 1031, F32),
    MAP_EDGE(2111, 2113, F32), /* large enough for streaming stores; rows share cache lines */
    MAP_EDGE(1, 1, BF16), MAP_EDGE(5, 31, BF16), MAP_EDGE(7, 1031, BF16), MAP_EDGE(2111, 2113, BF16),
    MAP_CUDA(1, 1, F16), MAP_CUDA(5, 31, F16), MAP_CUDA(7, 1031, F16),
    MAP_CUDA(3, 16411, F16), /* several warp tiles per row */
    MAP_CUDA(3, 16411, F32),
    /* Narrow rows over several blocks. Padded by a multiple of a vector they are vectors, else single elements. */
    MAP_CUDA(517, 16, F32), MAP_CUDA(517, 24, BF16), MAP_CUDA(263, 13, F16), MAP_CUDA(1031, 1, BF16),
    MAP_CUDA(9, 256, F32), /* the widest single elements */
};

enum { MAP_INS = sizeof in / sizeof *in, MAP_OUTS = sizeof out / sizeof *out };

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = MAP_FLOPS * elements(c),
                      .bytes_read = MAP_INS * tensor_bytes(c),
                      .bytes_written = MAP_OUTS * tensor_bytes(c)};
}

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double temporaries = MAP_TEMPORARIES * 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = MAP_READS * x + temporaries, .written = MAP_OUTS * x + temporaries};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = MAP_INS * tensor_bytes(c), .streamed = MAP_OUTS * tensor_bytes(c)};
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return MAP_TEMPORARIES * row_temporary_bytes(c->dim[0], c->dim[1]);
}
/* No write-allocation on a GPU: every store counts once. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0.0;
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = MAP_CPU_BASELINE,
     .run = TOKEN_ON_CPU(MAP_FN(cpu_baseline)),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = MAP_CPU_OPTIMIZED,
     .run = TOKEN_ON_CPU(MAP_FN(cpu_optimized)),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = MAP_CUDA_BASELINE,
     .run = TOKEN_ON_CUDA(MAP_FN(cuda_baseline)),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = MAP_CUDA_OPTIMIZED,
     .run = TOKEN_ON_CUDA(MAP_FN(cuda_optimized)),
     .traffic = optimized_traffic},
};

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

const ridge_target TOKEN_JOIN(ridge_target, MAP_NAME) = {
    .name = TOKEN_STRING(MAP_NAME),
    .chapter = "ch09",
    .summary = MAP_SUMMARY,
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
