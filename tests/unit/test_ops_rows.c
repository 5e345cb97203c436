/* The families of norms and of softmax as public operations: options, types of weights, what may be in place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { ROWS = 6, COLS = 37, ALL = ROWS * COLS };

/* A tensor of `rank` 1 (COLS) or 2 (ROWS x COLS), with room for f32. */
typedef struct array {
    int64_t shape[2];
    ridge_dtype dtype;
    DLTensor t;
    float data[ALL];
} array;

static void make(array *a, int rank, ridge_dtype dtype, double (*value)(int)) {
    const int n = rank == 1 ? COLS : ALL;
    *a = (array){.shape = {rank == 1 ? COLS : ROWS, COLS}, .dtype = dtype};
    a->t = (DLTensor){
        .data = a->data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = ridge_dtype_to_dlpack(dtype), .shape = a->shape};
    for (int i = 0; i < n; i++) ridge_store(a->data, dtype, i, value ? value(i) : (double)NAN);
}
static double at(const array *a, int i) { return ridge_load(a->data, a->dtype, i); }

static double wave(int i) { return sin(i * 0.7) * 2 - 0.5; }
static double slope(int i) { return cos(i * 0.3); }
static double three_and_four(int i) { return i % COLS < 2 ? 3 + i % COLS : 0; }
/* What bf16 represents exactly. */
static double eighths(int i) { return (double)(i % 13 - 6) / 8; }
static double quarters(int i) { return (double)(i % 5 - 2) / 4; }

static ridge_context *context;
static ridge_error why;
static int set_up(void **state) {
    (void)state;
    return ridge_context_create(1, &context, NULL) == RIDGE_OK ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    ridge_context_destroy(context);
    return 0;
}

static void expect_same(const array *a, const array *b, double within) {
    for (int i = 0; i < ALL; i++) assert_true(fabs(at(a, i) - at(b, i)) <= within);
}

static void eps_and_activation_are_taken(void **state) {
    (void)state;
    static array x, gamma, y;
    make(&x, 2, RIDGE_F32, wave), make(&gamma, 1, RIDGE_F32, slope), make(&y, 2, RIDGE_F32, NULL);
    const ridge_norm_options o = {0.5, RIDGE_ACTIVATION_RELU};
    assert_int_equal(ridge_rms_norm(context, &x.t, &gamma.t, &o, &y.t, &why), RIDGE_OK);
    for (int i = 0; i < ROWS; i++) {
        double squares = 0;
        for (int j = 0; j < COLS; j++) squares += at(&x, i * COLS + j) * at(&x, i * COLS + j);
        for (int j = 0; j < COLS; j++) {
            const double h = at(&x, i * COLS + j) / sqrt(squares / COLS + 0.5) * at(&gamma, j);
            assert_true(fabs(at(&y, i * COLS + j) - (h > 0 ? h : 0)) < 1e-5);
        }
    }
}

static void options_have_defaults_and_limits(void **state) {
    (void)state;
    static array x, gamma, beta, y, wanted;
    make(&x, 2, RIDGE_F32, wave), make(&gamma, 1, RIDGE_F32, slope), make(&beta, 1, RIDGE_F32, wave);
    make(&y, 2, RIDGE_F32, NULL), make(&wanted, 2, RIDGE_F32, NULL);
    ridge_norm_options o = {1e-5, RIDGE_ACTIVATION_NONE};
    assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &beta.t, NULL, &y.t, &why), RIDGE_OK);
    assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &beta.t, &o, &wanted.t, &why), RIDGE_OK);
    expect_same(&y, &wanted, 0);
    for (int i = 0; i < 4; i++) {
        static const double bad[] = {0, -1, 1e-60, 1e9};
        o.eps = bad[i];
        assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &beta.t, &o, &y.t, &why), RIDGE_INVALID);
        assert_non_null(strstr(why.text, "eps"));
    }
    const double half[RIDGE_MAX_OPTIONS] = {1e-5, 1.5};
    const DLTensor in[] = {x.t, gamma.t, beta.t};
    assert_int_equal(ridge_apply(context, "layer_norm", NULL, in, 3, &y.t, 1, half, &why), RIDGE_INVALID);
    assert_non_null(strstr(why.text, "activation"));
}

/* Rows longer than eps, and rows shorter. */
static void l2_norm_and_its_gradient_have_an_eps(void **state) {
    (void)state;
    static array x, y, dy, dx;
    make(&x, 2, RIDGE_F32, slope), make(&dy, 2, RIDGE_F32, wave);
    make(&y, 2, RIDGE_F32, NULL), make(&dx, 2, RIDGE_F32, NULL);
    for (int large = 0; large < 2; large++) {
        const ridge_norm_options o = {large ? 1e3 : 1e-3, RIDGE_ACTIVATION_RELU};
        assert_int_equal(ridge_l2_norm(context, &x.t, &o, &y.t, &why), RIDGE_OK);
        assert_int_equal(ridge_l2_norm_backward(context, &x.t, &dy.t, o.eps, &dx.t, &why), RIDGE_OK);
        for (int i = 0; i < ROWS; i++) {
            double squares = 0, products = 0;
            for (int j = i * COLS; j < (i + 1) * COLS; j++)
                squares += at(&x, j) * at(&x, j), products += at(&x, j) * at(&dy, j);
            const double r = 1 / fmax(sqrt(squares), o.eps);
            for (int j = i * COLS; j < (i + 1) * COLS; j++) {
                const double z = at(&x, j) * r, more = large ? 0 : z * products * r;
                assert_true(fabs(at(&y, j) - fmax(z, 0)) < 1e-5);
                assert_true(fabs(at(&dx, j) - r * (at(&dy, j) - more)) < 1e-5 * r);
            }
        }
    }
    make(&x, 2, RIDGE_F32, three_and_four); /* a norm of eps is not larger than eps */
    assert_int_equal(ridge_l2_norm_backward(context, &x.t, &dy.t, 5, &dx.t, &why), RIDGE_OK);
    for (int i = 0; i < ALL; i++) assert_true(fabs(at(&dx, i) - at(&dy, i) / 5) < 1e-6);
    assert_int_equal(ridge_l2_norm(context, &x.t, NULL, &y.t, &why), RIDGE_OK);
    assert_int_equal(ridge_l2_norm_backward(context, &x.t, &dy.t, 0, &dx.t, &why), RIDGE_INVALID);
    assert_non_null(strstr(why.text, "eps"));
}

/* Of log softmax, by its definition. */
static void softmax_s_gradient_has_its_options(void **state) {
    (void)state;
    static array y, dy, dx;
    make(&y, 2, RIDGE_F32, slope), make(&dy, 2, RIDGE_F32, wave), make(&dx, 2, RIDGE_F32, NULL);
    assert_int_equal(ridge_softmax_backward(context, &y.t, &dy.t, 0.5, true, &dx.t, &why), RIDGE_OK);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++) sum += at(&dy, i * COLS + j);
        for (int j = i * COLS; j < (i + 1) * COLS; j++)
            assert_true(fabs(at(&dx, j) - 0.5 * (at(&dy, j) - exp(at(&y, j)) * sum)) < 1e-4);
    }
    assert_int_equal(ridge_softmax_backward(context, &y.t, &dy.t, 0.5, false, &dx.t, &why), RIDGE_OK);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = i * COLS; j < (i + 1) * COLS; j++) sum += at(&y, j) * at(&dy, j);
        for (int j = i * COLS; j < (i + 1) * COLS; j++)
            assert_true(fabs(at(&dx, j) - 0.5 * at(&y, j) * (at(&dy, j) - sum)) < 1e-4);
    }
}

static void weights_may_be_wider_than_rows(void **state) {
    (void)state;
    static array x, gamma, beta, wide_gamma, wide_beta, y, wide;
    make(&x, 2, RIDGE_BF16, wave), make(&y, 2, RIDGE_BF16, NULL), make(&wide, 2, RIDGE_BF16, NULL);
    make(&gamma, 1, RIDGE_BF16, eighths), make(&beta, 1, RIDGE_BF16, quarters);
    make(&wide_gamma, 1, RIDGE_F32, eighths), make(&wide_beta, 1, RIDGE_F32, quarters);
    assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &beta.t, NULL, &y.t, &why), RIDGE_OK);
    assert_int_equal(ridge_layer_norm(context, &x.t, &wide_gamma.t, &wide_beta.t, NULL, &wide.t, &why), RIDGE_OK);
    expect_same(&y, &wide, 0);
    assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &wide_beta.t, NULL, &y.t, &why), RIDGE_INVALID);
    assert_string_equal(why.text, "layer_norm: gamma and beta are of different types");
    assert_int_equal(ridge_layer_norm(context, &x.t, &wide_gamma.t, &beta.t, NULL, &y.t, &why), RIDGE_INVALID);
    /* What a caller says of them does not matter. */
    const double wrong[RIDGE_MAX_OPTIONS] = {1e-5, 0, 1};
    const DLTensor in[] = {x.t, gamma.t, beta.t};
    assert_int_equal(ridge_apply(context, "layer_norm", NULL, in, 3, &wide.t, 1, wrong, &why), RIDGE_OK);
    expect_same(&y, &wide, 0);
    /* Narrower ones are refused. */
    make(&x, 2, RIDGE_F32, wave), make(&y, 2, RIDGE_F32, NULL);
    assert_int_equal(ridge_layer_norm(context, &x.t, &gamma.t, &beta.t, NULL, &y.t, &why), RIDGE_INVALID);
}

static void a_sum_may_take_the_residuals_place(void **state) {
    (void)state;
    static array x, residual, gamma, y, sum;
    make(&x, 2, RIDGE_BF16, wave), make(&residual, 2, RIDGE_BF16, eighths), make(&gamma, 1, RIDGE_BF16, slope);
    make(&y, 2, RIDGE_BF16, NULL), make(&sum, 2, RIDGE_BF16, NULL);
    assert_int_equal(ridge_add_rms_norm(context, &x.t, &residual.t, &gamma.t, NULL, &y.t, &sum.t, &why), RIDGE_OK);
    for (int i = 0; i < ALL; i++) assert_true(fabs(at(&sum, i) - (at(&x, i) + at(&residual, i))) <= 0x1p-7);
    assert_int_equal(ridge_add_rms_norm(context, &x.t, &residual.t, &gamma.t, NULL, &x.t, &residual.t, &why), RIDGE_OK);
    expect_same(&residual, &sum, 0);
    expect_same(&x, &y, 0);
    assert_int_equal(ridge_add_rms_norm(context, &x.t, &residual.t, &gamma.t, NULL, &y.t, &y.t, &why), RIDGE_INVALID);
}

static void a_triangle_sees_no_more(void **state) {
    (void)state;
    static array x, y;
    make(&x, 2, RIDGE_F32, wave), make(&y, 2, RIDGE_F32, NULL);
    ridge_softmax_options o = {.scale = 0.5, .causal = 3};
    for (int log_of = 0; log_of <= 1; log_of++) {
        o.log = log_of;
        assert_int_equal(ridge_scaled_softmax(context, &x.t, &o, &y.t, &why), RIDGE_OK);
        for (int i = 0; i < ROWS; i++) {
            const int seen = COLS - 3 + i % 3 + 1;
            double sum = 0;
            for (int j = 0; j < seen; j++) sum += exp(0.5 * at(&x, i * COLS + j));
            for (int j = 0; j < COLS; j++) {
                const double got = at(&y, i * COLS + j), p = exp(0.5 * at(&x, i * COLS + j)) / sum;
                if (j < seen)
                    assert_true(fabs(got - (log_of ? log(p) : p)) < 1e-5);
                else
                    assert_true(log_of ? isinf(got) && got < 0 : !(got > 0 || got < 0));
            }
        }
    }
    o.causal = COLS + 1;
    assert_int_equal(ridge_scaled_softmax(context, &x.t, &o, &y.t, &why), RIDGE_INVALID);
    assert_non_null(strstr(why.text, "causal"));
}

static double triangle(int i) { return i % COLS < i / COLS + 2 ? 0 : (double)-INFINITY; }

static void a_mask_is_added(void **state) {
    (void)state;
    static array x, mask, y, wanted;
    make(&x, 2, RIDGE_F32, wave), make(&mask, 2, RIDGE_F32, triangle);
    make(&y, 2, RIDGE_F32, NULL), make(&wanted, 2, RIDGE_F32, wave);
    assert_int_equal(ridge_masked_softmax(context, &x.t, &mask.t, NULL, &y.t, &why), RIDGE_OK);
    for (int i = 0; i < ALL; i++) ridge_store(wanted.data, RIDGE_F32, i, at(&x, i) + at(&mask, i));
    assert_int_equal(ridge_softmax(context, &wanted.t, &wanted.t, &why), RIDGE_OK);
    expect_same(&y, &wanted, 1e-6);
    const ridge_softmax_options o = {.scale = 1, .causal = 2};
    assert_int_equal(ridge_masked_softmax(context, &x.t, &mask.t, &o, &y.t, &why), RIDGE_INVALID);
    assert_int_equal(ridge_masked_softmax(context, &x.t, NULL, NULL, &y.t, &why), RIDGE_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(eps_and_activation_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_have_defaults_and_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(l2_norm_and_its_gradient_have_an_eps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(softmax_s_gradient_has_its_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weights_may_be_wider_than_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sum_may_take_the_residuals_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_triangle_sees_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mask_is_added, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
