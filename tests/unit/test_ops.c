/* The public operations: tensors in, tensors out, and a clear word where they do not fit together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { ROWS = 7, COLS = 300 };

static DLTensor matrix(float *data, int64_t *shape, int64_t *strides) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .shape = shape,
                      .strides = strides};
}

typedef struct fixture {
    ridge_context *context;
    float x[ROWS * COLS], y[ROWS * COLS];
    int64_t shape[2];
    DLTensor in, out;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f || ridge_context_create(2, &f->context, NULL) != RIDGE_OK) return -1;
    for (int i = 0; i < ROWS * COLS; i++) f->x[i] = sinf((float)i), f->y[i] = NAN;
    f->shape[0] = ROWS, f->shape[1] = COLS;
    f->in = matrix(f->x, f->shape, NULL);
    f->out = matrix(f->y, f->shape, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ridge_context_destroy(f->context);
    free(f);
    return 0;
}

static void rows_have_length_one(void **state) {
    fixture *f = *state;
    assert_int_equal(ridge_l2norm(f->context, &f->in, &f->out, NULL), RIDGE_OK);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++) sum += (double)f->y[i * COLS + j] * (double)f->y[i * COLS + j];
        assert_true(fabs(sum - 1) < 1e-5);
    }
}

static void rows_sum_to_one_in_every_variant(void **state) {
    fixture *f = *state;
    const char *const variants[] = {NULL, "cpu/baseline", "cpu/optimized", NULL};
    for (int v = 0; v < 4; v++) { /* the shape is met again: scratch is kept */
        for (int i = 0; i < ROWS * COLS; i++) f->y[i] = NAN;
        assert_int_equal(ridge_apply(f->context, "online_softmax", variants[v], &f->in, 1, &f->out, 1, NULL, NULL),
                         RIDGE_OK);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int j = 0; j < COLS; j++) sum += (double)f->y[i * COLS + j];
            assert_true(fabs(sum - 1) < 1e-5);
        }
    }
}

static void strided_rows_leave_the_gaps_alone(void **state) {
    fixture *f = *state;
    int64_t shape[2] = {ROWS, COLS - 5}, strides[2] = {COLS, 1};
    DLTensor in = matrix(f->x, shape, strides), out = matrix(f->y, shape, strides);
    assert_int_equal(ridge_softmax(f->context, &in, &out, NULL), RIDGE_OK);
    for (int i = 0; i < ROWS * COLS; i++) assert_true((i % COLS < COLS - 5) != (isnan(f->y[i]) != 0));
}

/* Each misuse: its status, and a word that its text must have. */
static void misuse_is_told(void **state) {
    fixture *f = *state;
    int64_t fewer[2] = {ROWS - 1, COLS}, columns[2] = {1, ROWS}, one[1] = {ROWS};
    DLTensor small = matrix(f->y, fewer, NULL), turned = matrix(f->x, f->shape, columns), flat = f->in;
    DLTensor integers = f->in, elsewhere = f->out, unknown = f->in;
    flat.ndim = 1, flat.shape = one;
    integers.dtype = (DLDataType){kDLInt, 8, 1};
    elsewhere.device = (DLDevice){kDLCUDA, 0};
    unknown.device = (DLDevice){kDLMetal, 0};
    const struct {
        const char *target, *variant;
        const DLTensor *in, *out;
        int n_in;
        ridge_status status;
        const char *word;
    } cases[] = {
        {"fused_l2norm", NULL, &f->in, &small, 1, RIDGE_INVALID, "rows"},
        {"fused_l2norm", NULL, &turned, &f->out, 1, RIDGE_INVALID, "row-major"},
        {"fused_l2norm", NULL, &flat, &f->out, 1, RIDGE_INVALID, "dimensions"},
        {"fused_l2norm", NULL, &integers, &f->out, 1, RIDGE_INVALID, "type"},
        {"fused_l2norm", NULL, &f->in, &elsewhere, 1, RIDGE_INVALID, "device"},
        {"fused_l2norm", NULL, &unknown, &f->out, 1, RIDGE_UNSUPPORTED, "device"},
        {"fused_l2norm", NULL, &f->in, &f->out, 0, RIDGE_INVALID, "inputs"},
        {"fused_l2norm", "cpu/none", &f->in, &f->out, 1, RIDGE_NOT_FOUND, "variant"},
        {"no_such_target", NULL, &f->in, &f->out, 1, RIDGE_NOT_FOUND, "target"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ridge_error error = {0};
        ridge_status status = ridge_apply(f->context, cases[i].target, cases[i].variant, cases[i].in, cases[i].n_in,
                                          cases[i].out, 1, NULL, &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].word))
            fail_msg("case %zu: status %d, \"%s\"", i, (int)status, error.text);
    }
    for (int i = 0; i < ROWS * COLS; i++) assert_true(isnan(f->y[i]));
}

/* w by columns is understood as such; what is neither by rows nor by columns is not. */
static void columns_are_told_from_rows(void **state) {
    fixture *f = *state;
    enum { DEPTH = 6, CLASSES = 5 };
    int64_t xs[2] = {ROWS, DEPTH}, ws[2] = {DEPTH, CLASSES}, ps[2] = {ROWS, CLASSES}, bs[1] = {CLASSES};
    int64_t columns[2] = {1, DEPTH}, overlapping[2] = {1, DEPTH - 1};
    float w[DEPTH * CLASSES] = {0}, b[CLASSES] = {0}, p[ROWS * CLASSES];
    DLTensor in[3] = {matrix(f->x, xs, NULL), matrix(w, ws, columns), matrix(b, bs, NULL)}, out = matrix(p, ps, NULL);
    ridge_error error = {0};
    in[2].ndim = 1;
    ridge_status status = ridge_apply(f->context, "linear_softmax", NULL, in, 3, &out, 1, NULL, &error);
    assert_true(status == RIDGE_OK || (status == RIDGE_UNSUPPORTED && strstr(error.text, "by rows")));
    in[1].strides = overlapping;
    status = ridge_apply(f->context, "linear_softmax", NULL, in, 3, &out, 1, NULL, &error);
    assert_int_equal(status, RIDGE_INVALID);
    assert_non_null(strstr(error.text, "column-major"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_told_from_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_have_length_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_sum_to_one_in_every_variant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strided_rows_leave_the_gaps_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misuse_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
