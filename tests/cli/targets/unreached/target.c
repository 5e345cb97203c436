/* y = x by ways of which no case runs one, and a peer that refuses whatever it is asked. Linked into ridge-faulty for the
 * golden tests: what did not run is not ok.
 *
 * x, y: [rows, cols], f32. Least traffic: size(x) + size(y). No FLOP. */
#include <string.h>

#include "ridge/target.h"

static const ridge_case cases[] = {{.dim = {4, 8}, .dtype = RIDGE_F32, .edge = true},
                                   {.dim = {0, 3}, .dtype = RIDGE_F32, .edge = true}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static ridge_status copy(const ridge_call *call) {
    for (int64_t i = 0; i < call->dim[0]; i++)
        memcpy((float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]),
               (const float *)ridge_data(&call->in[0]) + i * ridge_row_stride(&call->in[0]),
               (size_t)call->dim[1] * sizeof(float));
    return RIDGE_OK;
}
static ridge_status refuse(const ridge_call *call) {
    (void)call;
    return RIDGE_UNSUPPORTED;
}

static ridge_plan never_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way, (void)p;
    return (ridge_plan){.refusal = "for more rows than any case has"};
}
static ridge_plan odd_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    const bool dense = p->tensor[0].offset % 64 == 0;
    return (ridge_plan){.refusal = dense ? "for x that begins between 64-byte boundaries" : NULL, .us = 1};
}

static const ridge_way ways[] = {
    {.name = "plain", .idea = "row by row", .run = RIDGE_ANY_ISA(copy)},
    {.name = "never", .idea = "for no case", .plan = never_plan, .run = RIDGE_ANY_ISA(copy)},
    {.name = "odd", .idea = "for what is misaligned", .plan = odd_plan, .run = RIDGE_ANY_ISA(copy)},
};
static const ridge_variant variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "row by row", .run = RIDGE_ANY_ISA(copy)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "by ways", .ways = RIDGE_LIST(ways)},
    {.name = "cpu/peer", .role = RIDGE_PEER, .idea = "refuses", .run = RIDGE_ANY_ISA(refuse)},
};

static void work(const ridge_case *c, ridge_work *w) {
    const double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.bytes_read = 4 * n, .bytes_written = 4 * n};
}
static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) call->out[0][i] = call->in[0][i];
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

const ridge_target ridge_target_unreached = {
    .name = "unreached",
    .chapter = "test",
    .summary = "y = x, by a way that nothing runs",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
};
