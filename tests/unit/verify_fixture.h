/* A small target of the tests' own, a copy of the registry's ways without its kernels, and operands for any target. */
#ifndef VERIFY_FIXTURE_H
#define VERIFY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "ridge/target.h"
#include "verify/operands.h"

/* y[i,j] = x[i,j] * w[j] + b[k[i]]   and   s[i] = k[i]:  a row input, two shared ones, an index, two outputs. */
static const ridge_tensor_spec fixture_in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "w", .rank = 1, .dim = {1}},
    {.name = "b", .rank = 1, .dim = {2}},
    {.name = "k", .rank = 1, .dim = {0}, .dtype = RIDGE_I32, .fill = RIDGE_FILL_INDEX, .index_dim = 2, .by_row = true},
};
static const ridge_tensor_spec fixture_out[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}},
    {.name = "s", .rank = 1, .dim = {0}, .dtype = RIDGE_I32},
};

static void fixture_oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0]; i++) {
        int64_t k = (int64_t)call->in[3][i];
        for (int64_t j = 0; j < call->dim[1]; j++)
            call->out[0][i * call->dim[1] + j] = call->in[0][i * call->dim[1] + j] * call->in[1][j] + call->in[2][k];
        call->out[1][i] = (double)k;
    }
}

static void fixture_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound) {
    double unit = ridge_dtype_roundoff(call->dtype);
    *bound = (ridge_bound){0};
    if (output == 0 && kind != RIDGE_EXACT) *bound = (ridge_bound){.absolute = 0x1p-22, .relative = unit};
}

static void fixture_work(const ridge_case *c, ridge_work *work) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *work = (ridge_work){2 * n, 4 * n, 4 * n};
}

static const ridge_target fixture_target = {
    .name = "fixture",
    .chapter = "test",
    .summary = "scaled rows plus a gathered value",
    .dims = {"rows", "cols", "table"},
    .in = RIDGE_LIST(fixture_in),
    .out = RIDGE_LIST(fixture_out),
    .work = fixture_work,
    .oracle = fixture_oracle,
    .bound = fixture_bound,
};

/* A right answer, element by element through the slow accessors, so that any layout and type will do. */
static inline void fixture_run(const ridge_operands *ops) {
    const DLTensor *x = &ops->in[0], *w = &ops->in[1], *b = &ops->in[2], *k = &ops->in[3];
    ridge_dtype dtype = ops->c.dtype;
    for (int64_t i = 0; i < ops->c.dim[0]; i++) {
        double index = ridge_load(ridge_data(k), RIDGE_I32, i);
        double offset = ridge_load(ridge_data(b), dtype, (int64_t)index);
        for (int64_t j = 0; j < ops->c.dim[1]; j++) {
            double value =
                ridge_load(ridge_data(x), dtype, i * ridge_row_stride(x) + j) * ridge_load(ridge_data(w), dtype, j) +
                offset;
            ridge_store(ridge_data(&ops->out[0]), dtype, i * ridge_row_stride(&ops->out[0]) + j, value);
        }
        ridge_store(ridge_data(&ops->out[1]), RIDGE_I32, i, index);
    }
}

/* Operands in memory of their own, whose end is the end of the allocation, so that ASan sees what leaves it. */
static inline ridge_operands *operands_new(const ridge_target *target, ridge_case c, ridge_layout layout) {
    size_t bytes;
    ridge_error error;
    assert_int_equal(ridge_operands_bytes(target, &c, &layout, &bytes, &error), RIDGE_OK);
    ridge_operands *ops = malloc(sizeof *ops);
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(ops);
    assert_non_null(memory);
    ridge_operands_place(ops, target, &c, &layout, memory);
    assert_int_equal(ops->bytes, bytes);
    return ops;
}

static inline void operands_delete(ridge_operands *ops) {
    free(ops->memory);
    free(ops);
}

#endif
