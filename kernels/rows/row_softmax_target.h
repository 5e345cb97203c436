/* A target of the forms of softmax (model/row_softmax.h): cases, work, traffic, ways, oracle and bound. Included
 * once, by target.c, which defines before
 *
 *   ROW_SOFTMAX_NAME     the target's name, as a token
 *   ROW_SOFTMAX_MASKED   1: a mask is added to x; 0: rows may be those of a triangle
 *   ROW_SOFTMAX_SUMMARY  a line
 *
 * targets/scaled_softmax/README.md derives the bound. */
#include <math.h>

#include "cuda/rows/ways.h"
#include "model/row_softmax.h"
#include "model/row_temporary.h"
#include "model/token.h"
#include "ridge/target.h"

#define ROW_SOFTMAX_FN(what) TOKEN_JOIN(ROW_SOFTMAX_NAME, what)
TOKEN_DECLARE_CPU(ROW_SOFTMAX_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_SOFTMAX_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(ROW_SOFTMAX_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(ROW_SOFTMAX_FN(cuda_optimized));

/* ---- cases ------------------------------------------------------------------------------------------------------- */

#define SOFTMAX_TIMED(rows, cols, type, where) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {0.125, 0, cols}, .only = RIDGE_ONLY_##where }
#define SOFTMAX_EDGE(rows, cols, type, scale, log, causal) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {scale, log, causal}, .edge = true }
#define SOFTMAX_CUDA(rows, cols, type, scale, log, causal)                                        \
    {                                                                                             \
        .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {scale, log, causal}, .edge = true, \
        .only = RIDGE_ONLY_CUDA                                                                   \
    }
/* Lengths on both sides of every switch of rows/run.cuh; triangles, where the target has them, that begin in a first
 * column, and groups that rows do not fill. */
static const ridge_case cases[] = {
    SOFTMAX_TIMED(8192, 2048, F32, CPU),
    SOFTMAX_TIMED(8192, 2048, BF16, CPU),
    SOFTMAX_TIMED(32768, 4096, F32, CUDA),
    SOFTMAX_TIMED(32768, 4096, BF16, CUDA),
    SOFTMAX_TIMED(32768, 4096, F16, CUDA),
    SOFTMAX_EDGE(1, 1, F32, 1, 0, 1),
    SOFTMAX_EDGE(0, 64, F32, 1, 0, 0),
    SOFTMAX_EDGE(3, 15, F32, 8, 1, 2),
    SOFTMAX_EDGE(7, 1031, F32, 0.125, 0, 0),
    SOFTMAX_EDGE(67, 64, F32, 0.5, 1, 64),
    SOFTMAX_EDGE(2111, 2113, F32, 0.5, 0, 2113), /* large enough for streaming stores */
    SOFTMAX_EDGE(1, 1, BF16, 3, 1, 0),
    SOFTMAX_EDGE(5, 31, BF16, 1, 1, 31),
    SOFTMAX_EDGE(7, 1031, BF16, 0.125, 0, 4),
    SOFTMAX_EDGE(2111, 2113, BF16, 1, 0, 1000),
    SOFTMAX_CUDA(131, 63, F32, 0.5, 0, 63),
    SOFTMAX_CUDA(9, 129, F32, 2, 1, 5),
    SOFTMAX_CUDA(5, 513, F32, 0.125, 0, 0),
    SOFTMAX_CUDA(3, 2049, F32, 1, 1, 2049),
    SOFTMAX_CUDA(3, 4096, F32, 1, 0, 2),
    SOFTMAX_CUDA(2, 8193, F32, 0.125, 1, 0),
    SOFTMAX_CUDA(2, 16385, F32, 1, 0, 16385),
    SOFTMAX_CUDA(2, 16385, F32, 1, 1, 2),
    SOFTMAX_CUDA(1, 262145, F32, 1, 0, 7),
    SOFTMAX_CUDA(131, 64, BF16, 0.125, 0, 64),
    SOFTMAX_CUDA(9, 136, BF16, 0.125, 1, 0),
    SOFTMAX_CUDA(5, 1024, BF16, 4, 0, 1024),
    SOFTMAX_CUDA(3, 4104, BF16, 0.125, 1, 3),
    SOFTMAX_CUDA(2, 16384, BF16, 1, 0, 0),
    SOFTMAX_CUDA(2, 32769, BF16, 1, 0, 100),
    SOFTMAX_CUDA(1, 262145, BF16, 1, 1, 0),
    SOFTMAX_CUDA(1, 1, F16, 1, 0, 0),
    SOFTMAX_CUDA(67, 64, F16, 0.5, 1, 7),
    SOFTMAX_CUDA(7, 1031, F16, 0.125, 0, 1031),
    SOFTMAX_CUDA(3, 4096, F16, 1, 1, 0),
    SOFTMAX_CUDA(1, 65537, F16, 1, 0, 65537),
    SOFTMAX_CUDA(35, 776, F16, 0.25, 0, 0),
};

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
#if ROW_SOFTMAX_MASKED
    {.name = "mask", .rank = 2, .dim = {0, 1}, .by_row = true},
#endif
};
static const ridge_tensor_spec out[] = {
    {.name = "y",
     .rank = 2,
     .dim = {0, 1},
     .in_place = RIDGE_IN_PLACE_OF(0) | (ROW_SOFTMAX_MASKED ? RIDGE_IN_PLACE_OF(1) : 0)}};

static double causal_of(const double *option) { return ROW_SOFTMAX_MASKED ? 0 : option[ROW_SOFTMAX_CAUSAL]; }

static const char *reject(const ridge_case *c) {
    const double scale = c->option[ROW_SOFTMAX_SCALE], log = c->option[ROW_SOFTMAX_LOG], causal = causal_of(c->option);
    if (c->dim[1] < 1) return "cols must be at least 1";
    if (!(scale >= 0x1p-20 && scale <= 0x1p20)) return "scale must be from 2^-20 to 2^20";
    if (!(log >= 0 && log <= 1 && floor(log) >= log)) return "log must be 0 or 1";
    if (!(causal >= 0 && floor(causal) >= causal)) return "causal must be a number of rows, or 0";
    return causal > (double)c->dim[1] ? "causal must not exceed cols: its first rows would see nothing" : NULL;
}

/* ---- work, traffic, scratch -------------------------------------------------------------------------------------- */

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
/* Of x, those that rows see. */
static double seen(const ridge_case *c) {
    const double q = causal_of(c->option), n = (double)c->dim[1];
    if (!(q > 0)) return elements(c);
    const double groups = floor((double)c->dim[0] / q), rest = (double)c->dim[0] - groups * q;
    return groups * q * (n - q + (q + 1) / 2) + rest * (n - q + (rest + 1) / 2);
}
static double size(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double read_bytes(const ridge_case *c) { return (ROW_SOFTMAX_MASKED ? 2 : 1) * seen(c) * size(c); }

/* Scale, maximum, difference, exponential, sum, division; the mask. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = (ROW_SOFTMAX_MASKED ? 7 : 6) * seen(c),
                      .bytes_read = read_bytes(c),
                      .bytes_written = elements(c) * size(c)};
}

/* z and the exponentials are fp32: both written, z read three times, the exponentials once. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = read_bytes(c) + 16 * elements(c), .written = (8 + size(c)) * elements(c)};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = read_bytes(c), .streamed = elements(c) * size(c)};
}
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = read_bytes(c) + 16 * elements(c), .streamed = (8 + size(c)) * elements(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    optimized_traffic(c, t);
    if (c->dim[1] > ROW_CUDA_HELD) t->read *= 2;
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * row_temporary_bytes(c->dim[0], c->dim[1]) + 2 * (size_t)c->dim[0] * sizeof(float);
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

static const row_traits traits = {.of_4 = ROW_SOFTMAX_CUT, .of_2 = ROW_SOFTMAX_CUT, .more_in = ROW_SOFTMAX_MASKED};
static const ridge_way ways[] = {
#if ROW_SOFTMAX_MASKED
    ROW_WAYS_STAGED(ROW_SOFTMAX_FN(cuda_optimized), &traits),
#endif
    ROW_WAYS_SHORT(ROW_SOFTMAX_FN(cuda_optimized), &traits),  ROW_WAYS_SPREAD(ROW_SOFTMAX_FN(cuda_optimized), &traits),
    ROW_WAYS_BLOCK(ROW_SOFTMAX_FN(cuda_optimized), &traits),  ROW_WAYS_LONG(ROW_SOFTMAX_FN(cuda_optimized), &traits),
};
static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "logits, exponentials and quotients each go through memory",
     .run = TOKEN_ON_CPU(ROW_SOFTMAX_FN(cpu_baseline)),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass over memory: maximum, sum and quotients of a row in cache",
     .run = TOKEN_ON_CPU(ROW_SOFTMAX_FN(cpu_optimized)),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel for each step, all of them through memory",
     .run = TOKEN_ON_CUDA(ROW_SOFTMAX_FN(cuda_baseline)),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers, what it does not see is not read; maximum and sum in one exchange",
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
};

/* ---- oracle and bound -------------------------------------------------------------------------------------------- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1], causal = (int64_t)causal_of(call->option);
    const double scale = (double)(float)call->option[ROW_SOFTMAX_SCALE];
    const bool log_of = call->option[ROW_SOFTMAX_LOG] > 0;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        double *y = call->out[0] + i * n, max = -INFINITY, sum = 0;
        const int64_t end = row_softmax_seen(call->row[i], n, causal);
        for (int64_t j = 0; j < n; j++) {
            y[j] = j < end ? call->in[0][i * n + j] * scale : -INFINITY;
            if (ROW_SOFTMAX_MASKED && j < end) y[j] += call->in[ROW_SOFTMAX_MASKED][i * n + j];
            max = y[j] > max ? y[j] : max;
        }
        for (int64_t j = 0; j < end; j++) sum += exp(y[j] - max);
        for (int64_t j = 0; j < n; j++)
            if (j >= end)
                y[j] = log_of ? -INFINITY : 0; /* even where the row is NaN */
            else
                y[j] = log_of ? y[j] - max - log(sum) : exp(y[j] - max) / sum;
    }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype);
    const double mask = ROW_SOFTMAX_MASKED ? call->in_max[ROW_SOFTMAX_MASKED] : 0;
    const double spread = 2.0 * (call->option[ROW_SOFTMAX_SCALE] * call->in_max[0] + mask);
    const double walk = row_sum_error(call->dim[1]);
    if (call->option[ROW_SOFTMAX_LOG] > 0) {
        b->absolute = u * (9.0 + 4.0 * spread + walk + 2.0 * log((double)call->dim[1]));
        b->relative = u + narrowing;
        return;
    }
    b->relative = narrowing + u * (9.0 + 4.0 * fmin(spread, 105.0) + walk);
}

const ridge_target TOKEN_JOIN(ridge_target, ROW_SOFTMAX_NAME) = {
    .name = TOKEN_STRING(ROW_SOFTMAX_NAME),
    .chapter = "ch09",
    .summary = ROW_SOFTMAX_SUMMARY,
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "scale", .fallback = 1}, {.name = "log"}, {.name = ROW_SOFTMAX_MASKED ? NULL : "causal"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
