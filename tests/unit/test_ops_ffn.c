/* ridge_swiglu_ffn_backward: its gradients are the differences of ridge_swiglu_ffn; rows that are strided, no rows, and what
 * is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { M = 5, D = 7, F = 6, GAP = 3, LINE = D + GAP };
enum { X, W1, W2, INPUTS };

static float in[INPUTS][2 * F * D], gates[M * 2 * F], dy[M * D], y[M * D], out[INPUTS][2 * F * LINE];
static int64_t shape[INPUTS][2] = {{M, D}, {2 * F, D}, {D, F}}, of_gates[] = {M, 2 * F}, of_y[] = {M, D};
static int64_t apart[] = {LINE, 1};
static const int sizes[INPUTS] = {M * D, 2 * F *D, D *F};

static DLTensor tensor(float *data, int64_t *extents, int64_t *strides) {
    return (DLTensor){.data = data,
                      .ndim = 2,
                      .shape = extents,
                      .strides = strides,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .device = {kDLCPU, 0}};
}
static void fill(float *v, int n, int by) {
    for (int i = 0; i < n; i++) v[i] = 0.125f * (float)(i * by % 13 - 6);
}
static void fill_all(void) {
    for (int t = 0; t < INPUTS; t++) fill(in[t], sizes[t], 5 + 2 * t);
    fill(dy, M * D, 11);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < 2 * F; j++) {
            gates[i * 2 * F + j] = 0;
            for (int k = 0; k < D; k++) gates[i * 2 * F + j] += in[X][i * D + k] * in[W1][j * D + k];
        }
}

/* The sum of dy y, in which dy is constant: what the gradients are those of. */
static double objective(ridge_context *context) {
    const DLTensor x = tensor(in[X], shape[X], NULL), w1 = tensor(in[W1], shape[W1], NULL),
                   w2 = tensor(in[W2], shape[W2], NULL), result = tensor(y, of_y, NULL);
    double sum = 0;
    assert_int_equal(ridge_swiglu_ffn(context, &x, &w1, &w2, &result, NULL), RIDGE_OK);
    for (int i = 0; i < M * D; i++) sum += (double)dy[i] * (double)y[i];
    return sum;
}

/* Lines of dx and dw1 lie GAP elements apart, those of dw2 follow each other. */
static ridge_status gradients(ridge_context *context, int64_t *gates_shape, ridge_error *error) {
    const DLTensor x = tensor(in[X], shape[X], NULL), w1 = tensor(in[W1], shape[W1], NULL),
                   w2 = tensor(in[W2], shape[W2], NULL);
    const DLTensor kept = tensor(gates, gates_shape, NULL), given = tensor(dy, shape[X], NULL);
    const DLTensor dx = tensor(out[X], shape[X], apart), dw1 = tensor(out[W1], shape[W1], apart),
                   dw2 = tensor(out[W2], shape[W2], NULL);
    memset(out, 0xff, sizeof out);
    return ridge_swiglu_ffn_backward(context, &x, &w1, &w2, &kept, &given, &dx, &dw1, &dw2, error);
}

static float *gradient_at(int tensor_, int i) {
    return tensor_ == W2 ? &out[W2][i] : &out[tensor_][i / D * LINE + i % D];
}

static void gradients_are_differences(void **state) {
    const float step = 0x1p-7f;
    fill_all();
    assert_int_equal(gradients(*state, of_gates, NULL), RIDGE_OK);
    for (int t = 0; t < INPUTS; t++)
        for (int i = 0; i < sizes[t]; i++) {
            const float at = in[t][i];
            in[t][i] = at + step;
            const double above = objective(*state);
            in[t][i] = at - step;
            const double below = objective(*state), want = (above - below) / (2 * (double)step);
            in[t][i] = at;
            if (!(fabs((double)*gradient_at(t, i) - want) <= 1e-3 * (1 + fabs(want))))
                fail_msg("tensor %d, element %d: %g, want %g", t, i, (double)*gradient_at(t, i), want);
        }
}

static void nothing_is_written_between_lines(void **state) {
    fill_all();
    assert_int_equal(gradients(*state, of_gates, NULL), RIDGE_OK);
    for (int t = X; t <= W1; t++)
        for (int64_t i = 0; i < shape[t][0]; i++)
            for (int j = D; j < LINE; j++) assert_true(isnan(out[t][i * LINE + j]));
}

static void of_no_rows_the_weights_gradients_are_zero(void **state) {
    int64_t none[] = {0, 2 * F};
    fill_all();
    shape[X][0] = 0;
    const ridge_status status = gradients(*state, none, NULL);
    shape[X][0] = M;
    assert_int_equal(status, RIDGE_OK);
    for (int t = W1; t <= W2; t++)
        for (int i = 0; i < sizes[t]; i++) assert_true(*gradient_at(t, i) == 0);
    assert_true(isnan(out[W1][D]));
}

static void gates_that_do_not_fit_are_refused(void **state) {
    int64_t narrow[] = {M, F};
    ridge_error error;
    assert_int_equal(gradients(*state, narrow, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "gates"));
}

static int set_up(void **state) {
    ridge_context *context = NULL;
    const ridge_status status = ridge_context_create(2, &context, NULL);
    *state = context;
    return status == RIDGE_OK ? 0 : -1;
}
static int tear_down(void **state) {
    ridge_context_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(nothing_is_written_between_lines),
        cmocka_unit_test(of_no_rows_the_weights_gradients_are_zero),
        cmocka_unit_test(gates_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
