/* dx = scale y (dy - sum(y dy)), or of log softmax scale (dy - exp(y) sum(dy))     y, dy, dx: [rows, cols]
 * 4 or 5 FLOP an element; least traffic: y, dy and dx once. See README.md. */
#include <math.h>

#include "model/row_temporary.h"
#include "softmax_backward.h"

RIDGE_CPU_DECLARE(softmax_backward_cpu_baseline);
RIDGE_CPU_DECLARE(softmax_backward_cpu_optimized);
RIDGE_CUDA_DECLARE(softmax_backward_cuda_any);
#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(softmax_backward_cuda_##name);
SOFTMAX_BACK_TILES(DECLARE)

#define TIMED(rows, cols, type, log, where) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {1, log}, .only = RIDGE_ONLY_##where }
#define EDGE(rows, cols, type, scale, log) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {scale, log}, .edge = true }
#define GPU(rows, cols, type, scale, log) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {scale, log}, .edge = true, .only = RIDGE_ONLY_CUDA }
/* Lengths on both sides of what each kernel holds. */
static const ridge_case cases[] = {
    TIMED(8192, 2048, F32, 0, CPU),
    TIMED(8192, 2048, BF16, 0, CPU),
    TIMED(16384, 4096, F32, 0, CUDA),
    TIMED(16384, 4096, BF16, 0, CUDA),
    TIMED(16384, 4096, BF16, 1, CUDA),
    EDGE(1, 1, F32, 1, 0),
    EDGE(0, 64, F32, 1, 0),
    EDGE(3, 15, F32, 0.125, 1),
    EDGE(7, 1031, F32, -2, 0),
    EDGE(129, 2113, F32, 1, 1),
    EDGE(1, 1, BF16, 1, 1),
    EDGE(5, 31, BF16, 0.5, 0),
    EDGE(67, 264, BF16, 1, 1),
    EDGE(301, 600, BF16, -1, 0),
    GPU(133, 4, F32, 1, 0),
    GPU(131, 128, F32, 0.5, 1),
    GPU(70, 508, F32, 1, 0),
    GPU(39, 1024, F32, 1, 1),
    GPU(17, 2044, F32, 2, 0),
    GPU(5, 4096, F32, 1, 1),
    GPU(3, 8192, F32, 1, 0),
    GPU(3, 8196, F32, 1, 1),
    GPU(100, 256, BF16, 1, 0),
    GPU(61, 1024, BF16, 0.5, 1),
    GPU(33, 2040, BF16, 1, 0),
    GPU(17, 4096, BF16, 1, 1),
    GPU(5, 8184, BF16, 1, 0),
    GPU(3, 16384, BF16, 1, 1),
    GPU(3, 16392, BF16, 1, 0),
    GPU(1, 1, F16, 1, 0),
    GPU(67, 64, F16, 1, 1),
    GPU(7, 1031, F16, 1, 0),
};

/* Plain: an infinity reaches its whole row. */
static const ridge_tensor_spec in[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
    {.name = "dy", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
};
static const ridge_tensor_spec out[] = {{.name = "dx", .rank = 2, .dim = {0, 1}}};

static const char *reject(const ridge_case *c) {
    const double log = c->option[SOFTMAX_BACK_LOG];
    if (c->dim[SOFTMAX_BACK_COLS] < 1) return "cols must be at least 1";
    return log >= 0 && log <= 1 && floor(log) >= log ? NULL : "log must be 0 or 1";
}

/* ---- work, traffic ---- */

static double bytes(const ridge_case *c) {
    return (double)c->dim[0] * (double)c->dim[1] * (double)ridge_dtype_size(c->dtype);
}
/* A product and its sum 2, difference and product 2 and the scale 1; of log softmax the exponential for the first product. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){
        .flops = 5 * (double)c->dim[0] * (double)c->dim[1], .bytes_read = 2 * bytes(c), .bytes_written = bytes(c)};
}
/* All rows' sums, then all rows again. */
static void passes_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 4 * bytes(c), .written = bytes(c)};
}
static size_t sums_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return sizeof(float) * (size_t)c->dim[0];
}

/* ---- ways on a GPU ---- */

/* Bytes a microsecond of a copy on an H200; microseconds of a launch, an estimate. */
static const double DRAM = 4.2e6, LAUNCH = 3;

static double room_of(const softmax_back_tile *t) { return 16.0 * t->threads * t->packs; }
static const char *held_refusal(const softmax_back_tile *t, const ridge_problem *p) {
    const int64_t size = (int64_t)ridge_dtype_size(p->c.dtype), n = p->c.dim[SOFTMAX_BACK_COLS];
    if ((double)(n * size) > room_of(t)) return "for shorter rows";
    for (int i = 0; i < 3; i++)
        if (n * size % 16 || p->tensor[i].offset % 16 || p->tensor[i].stride[0] * size % 16)
            return "for rows in whole pieces of 16 bytes";
    return NULL;
}
/* Threads that have nothing of a row take turns with those that do: an eighth of the time, of as many again. */
static ridge_plan held_plan(const ridge_way *way, const ridge_problem *p) {
    const double filled = (double)p->c.dim[1] * (double)ridge_dtype_size(p->c.dtype) / room_of(way->own);
    return (ridge_plan){.refusal = held_refusal(way->own, p),
                        .us = LAUNCH + 3 * bytes(&p->c) / DRAM * (1 + (1 / filled - 1) / 8),
                        .traffic = {.read = 2 * bytes(&p->c), .streamed = bytes(&p->c)}};
}
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.us = LAUNCH + 6 * bytes(&p->c) / DRAM,
                        .traffic = {.read = 4 * bytes(&p->c), .written = bytes(&p->c)}};
}

#define HELD(name_, threads_, packs_, idea_)           \
    {.name = #name_,                                   \
     .idea = idea_,                                    \
     .plan = held_plan,                                \
     .run = RIDGE_CUDA(softmax_backward_cuda_##name_), \
     .own = &(const softmax_back_tile){threads_, packs_}},
static const ridge_way baseline_ways[] = {
    {.name = "passes",
     .idea = "a block a row, which it reads twice",
     .plan = any_plan,
     .run = RIDGE_CUDA(softmax_backward_cuda_any)},
};
static const ridge_way optimized_ways[] = {
    {.name = "any", .idea = "any rows: read twice", .plan = any_plan, .run = RIDGE_CUDA(softmax_backward_cuda_any)},
    SOFTMAX_BACK_TILES(HELD)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "the sums of all rows, then dx of all rows",
     .run = RIDGE_CPU(softmax_backward_cpu_baseline),
     .traffic = passes_traffic,
     .scratch = sums_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row by row, in cache between its sum and dx",
     .run = RIDGE_CPU(softmax_backward_cpu_optimized)},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a block a row, which it reads twice",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "rows in registers between their sum and dx",
     .ways = RIDGE_LIST(optimized_ways)},
};

/* ---- verification ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1];
    const double scale = (double)(float)call->option[SOFTMAX_BACK_SCALE];
    const bool log = call->option[SOFTMAX_BACK_LOG] > 0;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double *y = call->in[SOFTMAX_BACK_Y] + i * n, *dy = call->in[SOFTMAX_BACK_DY] + i * n;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += log ? dy[j] : y[j] * dy[j];
        for (int64_t j = 0; j < n; j++)
            call->out[0][i * n + j] = scale * (log ? dy[j] - exp(y[j]) * sum : y[j] * (dy[j] - sum));
    }
}

/* Derived in README.md: w in units of u = 2^-24. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype);
    const double w = row_sum_error(call->whole[1]), scale = fabs((double)(float)call->option[SOFTMAX_BACK_SCALE]);
    const int64_t n = call->dim[1];
    const bool log = call->option[SOFTMAX_BACK_LOG] > 0;
    double worst = 0;
    (void)kind, (void)output;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double *y = call->in[SOFTMAX_BACK_Y] + i * n, *dy = call->in[SOFTMAX_BACK_DY] + i * n;
        double sum = 0, factor = 0, largest = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += fabs(log ? dy[j] : y[j] * dy[j]);
            factor = fmax(factor, log ? exp(y[j]) : fabs(y[j])), largest = fmax(largest, fabs(dy[j]));
        }
        worst = fmax(worst, factor * sum * (w + (log ? 12 : 4)) + 4 * (log ? 1 : factor) * largest);
    }
    *b = (ridge_bound){.absolute = u * scale * worst * (1 + narrowing), .relative = 2 * u + narrowing};
}

const ridge_target ridge_target_softmax_backward = {
    .name = "softmax_backward",
    .chapter = "ch09",
    .summary = "gradient of softmax and log softmax of each row, from their results",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "scale", .fallback = 1}, {.name = "log"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
