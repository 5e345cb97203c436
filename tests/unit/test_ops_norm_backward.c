/* ridge_rms_norm_backward and ridge_layer_norm_backward: their gradients are the differences of the norms; dsum is added; no rows, and
 * what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { M = 3, N = 11, ALL = M * N };
static const double eps = 0.125;

static float x[ALL], gamma_[N], beta[N], dy[ALL], dsum[ALL], dx[ALL], dgamma[N], dbeta[N];
static int64_t rows[] = {M, N}, columns[] = {N};

static DLTensor tensor(float *data, int rank) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = rank,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .shape = rank == 1 ? columns : rows};
}

static void fill_all(void) {
    for (int i = 0; i < ALL; i++) x[i] = (float)sin(i * 0.7), dy[i] = (float)cos(i * 1.3), dsum[i] = (float)(i % 5 - 2);
    for (int j = 0; j < N; j++) gamma_[j] = 0.5f + 0.125f * (float)j, beta[j] = (float)(j % 3);
    memset(dx, 0xff, sizeof dx), memset(dgamma, 0xff, sizeof dgamma), memset(dbeta, 0xff, sizeof dbeta);
}

/* The sum of dy y. */
static double objective(ridge_context *context, bool centered) {
    float y[ALL];
    const DLTensor of_x = tensor(x, 2), of_gamma = tensor(gamma_, 1), of_beta = tensor(beta, 1), of_y = tensor(y, 2);
    const ridge_norm_options o = {eps, RIDGE_ACTIVATION_NONE};
    double sum = 0;
    assert_int_equal(centered ? ridge_layer_norm(context, &of_x, &of_gamma, &of_beta, &o, &of_y, NULL)
                              : ridge_rms_norm(context, &of_x, &of_gamma, &o, &of_y, NULL),
                     RIDGE_OK);
    for (int i = 0; i < ALL; i++) sum += (double)dy[i] * (double)y[i];
    return sum;
}

static ridge_status gradients(ridge_context *context, bool centered, bool with_sum, double with_eps,
                              ridge_error *error) {
    const DLTensor of_x = tensor(x, 2), of_gamma = tensor(gamma_, 1), of_dy = tensor(dy, 2), of_dsum = tensor(dsum, 2);
    const DLTensor of_dx = tensor(dx, 2), of_dgamma = tensor(dgamma, 1), of_dbeta = tensor(dbeta, 1);
    const DLTensor *const more = with_sum ? &of_dsum : NULL;
    return centered
               ? ridge_layer_norm_backward(context, &of_x, &of_gamma, &of_dy, more, with_eps, &of_dx, &of_dgamma,
                                           &of_dbeta, error)
               : ridge_rms_norm_backward(context, &of_x, &of_gamma, &of_dy, more, with_eps, &of_dx, &of_dgamma, error);
}

static void expect_differences(ridge_context *context, bool centered, float *at, const float *of, int n,
                               const char *what) {
    const float step = 0x1p-7f;
    for (int i = 0; i < n; i++) {
        const float old = at[i];
        at[i] = old + step;
        const double above = objective(context, centered);
        at[i] = old - step;
        const double below = objective(context, centered), want = (above - below) / (2 * (double)step);
        at[i] = old;
        if (!(fabs((double)of[i] - want) <= 2e-3 * (1 + fabs(want))))
            fail_msg("%s %d: %g, want %g", what, i, (double)of[i], want);
    }
}

static void gradients_are_differences(void **state) {
    for (int centered = 0; centered < 2; centered++) {
        fill_all();
        assert_int_equal(gradients(*state, centered, false, eps, NULL), RIDGE_OK);
        expect_differences(*state, centered, x, dx, ALL, "dx");
        expect_differences(*state, centered, gamma_, dgamma, N, "dgamma");
        if (centered) expect_differences(*state, true, beta, dbeta, N, "dbeta");
    }
}

static void what_reaches_x_beside_the_norm_is_added(void **state) {
    for (int centered = 0; centered < 2; centered++) {
        float plain[ALL];
        fill_all();
        assert_int_equal(gradients(*state, centered, false, eps, NULL), RIDGE_OK);
        memcpy(plain, dx, sizeof plain);
        assert_int_equal(gradients(*state, centered, true, eps, NULL), RIDGE_OK);
        for (int i = 0; i < ALL; i++) assert_true(fabs((double)(dx[i] - plain[i] - dsum[i])) < 1e-6);
    }
}

static void of_no_rows_the_sums_are_zero(void **state) {
    fill_all();
    rows[0] = 0;
    const ridge_status status = gradients(*state, true, false, eps, NULL);
    rows[0] = M;
    assert_int_equal(status, RIDGE_OK);
    for (int j = 0; j < N; j++) assert_true(dgamma[j] == 0 && dbeta[j] == 0);
    assert_true(isnan(dx[0]));
}

static void an_eps_out_of_range_is_refused(void **state) {
    ridge_error error;
    fill_all();
    assert_int_equal(gradients(*state, false, false, 0, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "eps"));
    assert_true(isnan(dx[0]));
}

static int set_up(void **state) { return ridge_context_create(2, (ridge_context **)state, NULL) == RIDGE_OK ? 0 : -1; }
static int tear_down(void **state) {
    ridge_context_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(what_reaches_x_beside_the_norm_is_added),
        cmocka_unit_test(of_no_rows_the_sums_are_zero),
        cmocka_unit_test(an_eps_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
