/* ridge_gemm_epilogue: every term given or absent, a column-major result, and what is refused. ridge_batched_gemm: one
 * product and several, matrices apart from each other. ridge_linear_norm_activation: both orders of w. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { M = 5, N = 37, K = 3 };

static float a[M * K], b[K * N], c[M * N], bias[N], row_bias[M], d[M * N];
static int64_t of_a[] = {M, K}, of_b[] = {K, N}, of_c[] = {M, N}, of_bias[] = {N}, of_row_bias[] = {M};
static int64_t column_major[] = {1, M};

static DLTensor tensor(float *data, int ndim, int64_t *shape, int64_t *strides) {
    return (DLTensor){.data = data,
                      .ndim = ndim,
                      .shape = shape,
                      .strides = strides,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .device = {kDLCPU, 0}};
}
static void fill(float *v, int n, float first) {
    for (int i = 0; i < n; i++) v[i] = first + 0.25f * (float)(i * 7 % 11 - 5);
}
static void fill_all(void) {
    fill(a, M * K, 0.1f), fill(b, K * N, -0.2f), fill(c, M * N, 0.3f), fill(bias, N, 0), fill(row_bias, M, 0.5f);
}

static double activated(int activation, double v) {
    switch (activation) {
        case RIDGE_ACTIVATION_GELU: return v * (1 + erf(v * sqrt(0.5))) / 2;
        case RIDGE_ACTIVATION_GELU_TANH: return v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))) / 2;
        case RIDGE_ACTIVATION_SILU: return v / (1 + exp(-v));
        case RIDGE_ACTIVATION_RELU: return fmax(v, 0);
        case RIDGE_ACTIVATION_RELU_SQUARED: return fmax(v, 0) * fmax(v, 0);
        default: return v;
    }
}

/* given: bit 0 C, bit 1 bias, bit 2 row_bias. */
static void check(ridge_context *context, int given, const ridge_gemm_epilogue_options *o, bool across) {
    const DLTensor ta = tensor(a, 2, of_a, NULL), tb = tensor(b, 2, of_b, NULL), tc = tensor(c, 2, of_c, NULL);
    const DLTensor t_bias = tensor(bias, 1, of_bias, NULL), t_row = tensor(row_bias, 1, of_row_bias, NULL);
    const DLTensor td = tensor(d, 2, of_c, across ? column_major : NULL);
    const double alpha = o ? o->alpha : 1, beta = o ? o->beta : 1;
    ridge_error error;
    memset(d, 0xff, sizeof d);
    assert_int_equal(ridge_gemm_epilogue(context, &ta, &tb, given & 1 ? &tc : NULL, given & 2 ? &t_bias : NULL,
                                         given & 4 ? &t_row : NULL, o, &td, &error),
                     RIDGE_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double v = 0;
            for (int k = 0; k < K; k++) v += (double)a[i * K + k] * (double)b[k * N + j];
            v = alpha * v + (given & 1 ? beta * (double)c[i * N + j] : 0) + (given & 2 ? (double)bias[j] : 0) +
                (given & 4 ? (double)row_bias[i] : 0);
            const double got = (double)(across ? d[j * M + i] : d[i * N + j]),
                         want = activated(o ? o->activation : 0, v);
            if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))))
                fail_msg("given %d, activation %d: d[%d,%d] = %g, want %g", given, o ? o->activation : 0, i, j, got,
                         want);
        }
}

static void terms_are_given_or_absent(void **state) {
    ridge_context *context = *state;
    fill_all();
    for (int given = 0; given < 8; given++) {
        check(context, given, NULL, given % 2);
        for (int f = 0; f <= RIDGE_ACTIVATION_RELU_SQUARED; f++) {
            const ridge_gemm_epilogue_options o = {-0.5, 2, f};
            check(context, given, &o, (given + f) % 2);
        }
    }
}

static void what_does_not_fit_is_refused(void **state) {
    ridge_context *context = *state;
    const DLTensor ta = tensor(a, 2, of_a, NULL), tb = tensor(b, 2, of_b, NULL), td = tensor(d, 2, of_c, NULL);
    const DLTensor wrong = tensor(bias, 1, of_row_bias, NULL);
    const ridge_gemm_epilogue_options unknown = {1, 1, 6};
    ridge_error error;
    assert_int_equal(ridge_gemm_epilogue(context, &ta, &tb, NULL, &wrong, NULL, NULL, &td, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "bias"));
    assert_int_equal(ridge_gemm_epilogue(context, &ta, &tb, NULL, NULL, NULL, &unknown, &td, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "activation must be"));
    assert_int_equal(ridge_gemm_epilogue(context, &ta, NULL, NULL, NULL, NULL, NULL, &td, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "b is NULL"));
}

static void matrices_of_a_batch_lie_apart(void **state) {
    enum { BATCH = 3, APART = M * N + 7 };
    static float several[BATCH * APART];
    int64_t shape_a[] = {BATCH, M, K}, shape_b[] = {BATCH, K, N}, shape_c[] = {BATCH, M, N};
    int64_t next_a[] = {0, K, 1}, next_b[] = {K * N, N, 1}, next_c[] = {APART, N, 1};
    static float all_a[BATCH * M * K], all_b[BATCH * K * N];
    next_a[0] = M * K;
    fill(all_a, BATCH * M * K, 0.1f), fill(all_b, BATCH * K * N, -0.3f);
    const ridge_gemm_options twice = {2};
    for (int count = 1; count <= BATCH; count++) {
        shape_a[0] = shape_b[0] = shape_c[0] = count;
        const DLTensor ta = tensor(all_a, 3, shape_a, next_a), tb = tensor(all_b, 3, shape_b, next_b);
        const DLTensor tc = tensor(several, 3, shape_c, next_c);
        for (int i = 0; i < BATCH * APART; i++) several[i] = 99;
        assert_int_equal(ridge_batched_gemm(*state, &ta, &tb, &twice, &tc, NULL), RIDGE_OK);
        for (int of = 0; of < BATCH; of++)
            for (int e = 0; e < APART; e++) {
                double want = 0;
                for (int k = 0; k < K && e < M * N; k++)
                    want += 2 * (double)all_a[(of * M + e / N) * K + k] * (double)all_b[(of * K + k) * N + e % N];
                if (of >= count || e >= M * N) want = 99; /* not written */
                assert_true(fabs((double)several[of * APART + e] - want) <= 1e-5 * (1 + fabs(want)));
            }
    }
}

/* Ends as they should be, and such as no caller should give: nothing is read or written outside. */
static void rows_go_to_their_group(void **state) {
    enum { GROUPS = 3, ROWS = 11 };
    static const int32_t ends[][GROUPS] = {{2, 2, 11},           {0, 7, 9}, {11, 3, 5},
                                           {-4, 12, 2000000000}, {5, 1, 8}, {0, 0, 0}};
    static float of_groups[GROUPS * K * N], rows[ROWS * K], result[ROWS * N];
    int64_t shape_a[] = {ROWS, K}, shape_b[] = {GROUPS, K, N}, shape_ends[] = {GROUPS}, shape_c[] = {ROWS, N};
    fill(rows, ROWS * K, 0.1f), fill(of_groups, GROUPS * K * N, -0.3f);
    const ridge_gemm_options twice = {2};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        const DLTensor ta = tensor(rows, 2, shape_a, NULL), tb = tensor(of_groups, 3, shape_b, NULL);
        const DLTensor tc = tensor(result, 2, shape_c, NULL);
        const DLTensor te = {
            .data = (void *)ends[e], .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLInt, 32, 1}, .shape = shape_ends};
        memset(result, 0xff, sizeof result);
        assert_int_equal(ridge_grouped_gemm(*state, &ta, &tb, &te, &twice, &tc, NULL), RIDGE_OK);
        for (int i = 0; i < ROWS; i++) {
            int g = 0;
            while (g < GROUPS && i >= ends[e][g]) g++;
            for (int j = 0; j < N; j++) {
                double want = 0;
                for (int k = 0; k < K && g < GROUPS; k++)
                    want += 2 * (double)rows[i * K + k] * (double)of_groups[(g * K + k) * N + j];
                assert_true(fabs((double)result[i * N + j] - want) <= 1e-5 * (1 + fabs(want)));
            }
        }
    }
}

/* Columns beyond a vector, and rows beyond a block; w in both orders. */
static void linear_layer_is_normalized(void **state) {
    enum { ROWS = 150 };
    static float x[ROWS * K], y[ROWS * N], turned[K * N];
    int64_t of_x[] = {ROWS, K}, of_y[] = {ROWS, N}, of_w[] = {K, N}, w_column_major[] = {1, K};
    float *const gamma = c, *const beta = c + N;
    fill_all(), fill(x, ROWS * K, 0.1f);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) turned[j * K + k] = b[k * N + j];
    for (int across = 0; across < 2; across++) {
        const DLTensor tx = tensor(x, 2, of_x, NULL), t_bias = tensor(bias, 1, of_bias, NULL);
        const DLTensor tw = tensor(across ? turned : b, 2, of_w, across ? w_column_major : NULL);
        const DLTensor t_gamma = tensor(gamma, 1, of_bias, NULL), t_beta = tensor(beta, 1, of_bias, NULL);
        const DLTensor ty = tensor(y, 2, of_y, NULL);
        ridge_error error;
        memset(y, 0xff, sizeof y);
        assert_int_equal(ridge_linear_norm_activation(*state, &tx, &tw, &t_bias, &t_gamma, &t_beta, &ty, &error),
                         RIDGE_OK);
        for (int i = 0; i < ROWS; i++) {
            double h[N], mean = 0, squares = 0;
            for (int j = 0; j < N; j++) {
                h[j] = (double)bias[j];
                for (int k = 0; k < K; k++) h[j] += (double)x[i * K + k] * (double)b[k * N + j];
                mean += h[j] / N;
            }
            for (int j = 0; j < N; j++) squares += (h[j] - mean) * (h[j] - mean);
            for (int j = 0; j < N; j++) {
                const double v = (h[j] - mean) / sqrt(squares / N + 1e-5) * (double)gamma[j] + (double)beta[j];
                const double want = activated(RIDGE_ACTIVATION_GELU, v), got = (double)y[i * N + j];
                if (!(fabs(got - want) <= 1e-4)) fail_msg("across %d: y[%d,%d] = %g, want %g", across, i, j, got, want);
            }
        }
    }
    const DLTensor tx = tensor(x, 2, of_x, NULL), tw = tensor(b, 2, of_w, NULL), ty = tensor(y, 2, of_y, NULL);
    const DLTensor short_bias = tensor(bias, 1, of_row_bias, NULL), line = tensor(gamma, 1, of_bias, NULL);
    ridge_error error;
    assert_int_equal(ridge_linear_norm_activation(*state, &tx, &tw, &short_bias, &line, &line, &ty, &error),
                     RIDGE_INVALID);
    assert_non_null(strstr(error.text, " b"));
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
        cmocka_unit_test(terms_are_given_or_absent),     cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(matrices_of_a_batch_lie_apart), cmocka_unit_test(rows_go_to_their_group),
        cmocka_unit_test(linear_layer_is_normalized),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
