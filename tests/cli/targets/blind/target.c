/* y = s x with any factor s up to 10 that a variant chooses and gives back. The oracle takes the variant's word for s,
 * so it passes variants whose results differ in every row. Linked into ridge-faulty for the golden tests.
 *
 * x, y: [rows, cols], s: [cols], f32. Least traffic: size(x) + size(y) + size(s). One FLOP an element; the factors are
 * powers of two, so products are exact. */
#include "ridge/target.h"

static const ridge_case cases[] = {{.dim = {64, 1000}, .dtype = RIDGE_F32}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}},
                                        {.name = "s", .rank = 1, .dim = {1}, .given = true}};

static ridge_status scale(const ridge_call *call, float factor) {
    float *s = ridge_data(&call->out[1]);
    for (int64_t j = 0; j < call->dim[1]; j++) s[j] = factor;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const float *x = (const float *)ridge_data(&call->in[0]) + i * ridge_row_stride(&call->in[0]);
        float *y = (float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
        for (int64_t j = 0; j < call->dim[1]; j++) y[j] = factor * x[j];
    }
    return RIDGE_OK;
}

static ridge_status by_two(const ridge_call *call) { return scale(call, 2); }
static ridge_status by_four(const ridge_call *call) { return scale(call, 4); }

static const ridge_variant variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "s = 2", .run = RIDGE_ANY_ISA(by_two)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "s = 4", .run = RIDGE_ANY_ISA(by_four)},
};

static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.flops = n, .bytes_read = 4 * n, .bytes_written = 4 * n + 4 * (double)c->dim[1]};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; call->out[0] && i < call->dim[0] * call->dim[1]; i++)
        call->out[0][i] = call->in[0][i] * call->given[1][i % call->dim[1]];
    for (int64_t j = 0; call->out[1] && j < call->dim[1]; j++) call->out[1][j] = 0;
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind;
    *b = (ridge_bound){.absolute = output == 1 ? 10 : 0};
}

static const char *reject(const ridge_case *c) { return c->dtype == RIDGE_F32 ? NULL : "only f32"; }

const ridge_target ridge_target_blind = {
    .name = "blind",
    .chapter = "test",
    .summary = "y = s x, with any s",
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
