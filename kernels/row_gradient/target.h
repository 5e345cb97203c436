/* A target of the gradients of rows: traffic, ways and variants. Included once, by target.c, which defines before
 *
 *   ROW_GRADIENT_NAME   the target's name, as a token
 *   ROW_GRADIENT_OF     what its rows are read for, as in "rows in registers between their … and dx" */
#include "model/row_temporary.h"
#include "model/token.h"
#include "row_gradient/row_gradient.h"

#define ROW_GRADIENT_FN(what) TOKEN_JOIN(ROW_GRADIENT_NAME, what)
TOKEN_DECLARE_CPU(ROW_GRADIENT_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_GRADIENT_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(ROW_GRADIENT_FN(cuda_any));
#define DECLARE(name, ...) TOKEN_DECLARE_CUDA(ROW_GRADIENT_FN(cuda_##name));
ROW_GRADIENT_TILES(DECLARE)

#define TIMED(rows, cols, type, where, ...) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {__VA_ARGS__}, .only = RIDGE_ONLY_##where }
#define EDGE(rows, cols, type, ...) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {__VA_ARGS__}, .edge = true }
#define GPU(rows, cols, type, ...) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {__VA_ARGS__}, .edge = true, .only = RIDGE_ONLY_CUDA }

static const ridge_tensor_spec out[] = {{.name = "dx", .rank = 2, .dim = {0, 1}}};

/* ---- work, traffic ---- */

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static ridge_work work_of(const ridge_case *c, double flops_of_element) {
    return (ridge_work){.flops = flops_of_element * elements(c), .bytes_read = 2 * bytes(c), .bytes_written = bytes(c)};
}
/* All rows' sums, then all rows again. */
static void passes_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 4 * bytes(c), .written = bytes(c)};
}
/* Two numbers a row. */
static size_t sums_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * sizeof(float) * (size_t)c->dim[0];
}

/* ---- ways on a GPU ---- */

/* Bytes a microsecond of a copy on an H200; microseconds of a launch, an estimate. */
static const double DRAM = 4.2e6, LAUNCH = 3;

static double room_of(const row_gradient_tile *t) { return 16.0 * t->threads * t->packs; }
static const char *held_refusal(const row_gradient_tile *t, const ridge_problem *p) {
    const int64_t size = (int64_t)ridge_dtype_size(p->c.dtype), n = p->c.dim[ROW_GRADIENT_COLS];
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

#define RUN_ANY TOKEN_ON_CUDA(ROW_GRADIENT_FN(cuda_any))
#define HELD(name_, threads_, packs_, idea_)              \
    {.name = #name_,                                      \
     .idea = idea_,                                       \
     .plan = held_plan,                                   \
     .run = TOKEN_ON_CUDA(ROW_GRADIENT_FN(cuda_##name_)), \
     .own = &(const row_gradient_tile){threads_, packs_}},
static const ridge_way baseline_ways[] = {
    {.name = "passes", .idea = "a block a row, which it reads twice", .plan = any_plan, .run = RUN_ANY},
};
static const ridge_way optimized_ways[] = {
    {.name = "any", .idea = "any rows: read twice", .plan = any_plan, .run = RUN_ANY}, ROW_GRADIENT_TILES(HELD)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "the " ROW_GRADIENT_OF "s of all rows, then dx of all rows",
     .run = TOKEN_ON_CPU(ROW_GRADIENT_FN(cpu_baseline)),
     .traffic = passes_traffic,
     .scratch = sums_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row by row, in cache between its " ROW_GRADIENT_OF " and dx",
     .run = TOKEN_ON_CPU(ROW_GRADIENT_FN(cpu_optimized))},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a block a row, which it reads twice",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "rows in registers between their " ROW_GRADIENT_OF " and dx",
     .ways = RIDGE_LIST(optimized_ways)},
};
