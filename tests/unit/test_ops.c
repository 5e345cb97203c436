/* The public operations: tensors in, tensors out. What they refuse: test_ops_odd.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void a_named_way_runs_and_no_other(void **state) {
    fixture *f = *state;
    int64_t side[2] = {COLS, COLS}, shape[2] = {ROWS, COLS};
    float *w = calloc((size_t)COLS * COLS, sizeof *w);
    assert_non_null(w);
    for (int i = 0; i < COLS; i++) w[i * COLS + i] = 1;
    const DLTensor in[2] = {matrix(f->x, shape, NULL), matrix(w, side, NULL)}, out = matrix(f->y, shape, NULL);
    const char *const ways[] = {"stream", "dots", "blocked"};
    for (int i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof name, "cpu/optimized:%s", ways[i]);
        const ridge_status status = ridge_apply(f->context, "micro_tiling_matmul", name, in, 2, &out, 1, NULL, NULL);
        if (status == RIDGE_UNSUPPORTED) continue; /* not on this processor */
        assert_int_equal(status, RIDGE_OK);
        assert_string_equal(ridge_context_last_way(f->context), ways[i]);
        assert_memory_equal(f->y, f->x, sizeof f->x);
    }
    ridge_error error;
    assert_int_equal(ridge_apply(f->context, "micro_tiling_matmul", ":none", in, 2, &out, 1, NULL, &error),
                     RIDGE_NOT_FOUND);
    assert_string_equal(error.text, "micro_tiling_matmul cpu/optimized has no way 'none'");
    assert_null(ridge_context_last_way(f->context));
    assert_int_equal(ridge_apply(f->context, "online_softmax", "cpu/optimized:", &f->in, 1, &f->out, 1, NULL, &error),
                     RIDGE_NOT_FOUND);
    free(w);
}

static void strided_rows_leave_the_gaps_alone(void **state) {
    fixture *f = *state;
    int64_t shape[2] = {ROWS, COLS - 5}, strides[2] = {COLS, 1};
    DLTensor in = matrix(f->x, shape, strides), out = matrix(f->y, shape, strides);
    assert_int_equal(ridge_softmax(f->context, &in, &out, NULL), RIDGE_OK);
    for (int i = 0; i < ROWS * COLS; i++) assert_true((i % COLS < COLS - 5) != (isnan(f->y[i]) != 0));
}

/* w by columns is understood as such; what is neither by rows nor by columns is not. */
static void columns_are_told_from_rows(void **state) {
    fixture *f = *state;
    enum { K = 6, N = 5 };
    int64_t xs[2] = {ROWS, K}, ws[2] = {K, N}, ps[2] = {ROWS, N}, bs[1] = {N};
    int64_t columns[2] = {1, K}, overlapping[2] = {1, K - 1};
    float w[K * N] = {0}, b[N] = {0}, p[ROWS * N];
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

/* ---- cross-entropy ---------------------------------------------------------------------------------------------- */

enum { BATCH = 11, DEPTH = 9, CLASSES = 6 };

typedef struct regression {
    float x[BATCH * DEPTH], w[CLASSES * DEPTH], b[CLASSES], dloss[BATCH];
    float loss[BATCH], lse[BATCH], dx[BATCH * DEPTH], dw[CLASSES * DEPTH], db[CLASSES];
    int32_t labels[BATCH];
} regression;

/* Mean loss of the rows that count, in fp64; w[c,d] is w[c * wc + d * wd]. */
static double mean_loss(const regression *r, int wc, int wd, const ridge_cross_entropy_options *o) {
    double sum = 0;
    int counted = 0;
    for (int i = 0; i < BATCH; i++) {
        double z[CLASSES], all = 0, mean = 0;
        if (r->labels[i] < 0 || r->labels[i] >= CLASSES || r->labels[i] == (int)o->ignore_index) continue;
        for (int c = 0; c < CLASSES; c++) {
            z[c] = (double)r->b[c];
            for (int d = 0; d < DEPTH; d++) z[c] += (double)r->x[i * DEPTH + d] * (double)r->w[c * wc + d * wd];
            all += exp(z[c]);
            mean += z[c] / CLASSES;
        }
        const double lse = log(all), s = o->label_smoothing;
        sum += (1 - s) * (lse - z[r->labels[i]]) + s * (lse - mean) + o->z_loss * lse * lse;
        counted++;
    }
    return counted ? sum / counted : 0;
}

/* The derivative of the mean loss by one value, by differences. */
static double slope(regression *r, float *value, int wc, int wd, const ridge_cross_entropy_options *o) {
    const float was = *value, more = was + 0x1p-12f, less = was - 0x1p-12f;
    *value = more;
    const double above = mean_loss(r, wc, wd, o);
    *value = less;
    const double below = mean_loss(r, wc, wd, o);
    *value = was;
    return (above - below) / ((double)more - (double)less); /* which is what rounding left of the step */
}

static void check_slopes(regression *r, const float *got, float *of, int n, int wc, int wd,
                         const ridge_cross_entropy_options *o) {
    for (int i = 0; i < n; i++) {
        const double want = slope(r, &of[i], wc, wd, o);
        if (!(fabs((double)got[i] - want) < 2e-6)) fail_msg("slope %d is %g, not %g", i, (double)got[i], want);
    }
}

/* Gradients against differences of an fp64 loss; the one call and the two agree; either order of w. */
static void gradients_are_slopes_of_the_loss(void **state) {
    fixture *f = *state;
    static const ridge_cross_entropy_options told[] = {{-100, 0, 0}, {3, 0.25, 0.125}, {2, 1, 0}, {0, 0, 0.5}};
    for (int turn = 0; turn < 8; turn++) {
        regression r;
        const ridge_cross_entropy_options *o = &told[turn / 2];
        const bool columns = turn % 2 == 1;
        const int wc = columns ? 1 : DEPTH, wd = columns ? CLASSES : 1;
        int64_t xs[2] = {BATCH, DEPTH}, ws[2] = {CLASSES, DEPTH}, turned[2] = {1, CLASSES}, rows[1] = {BATCH};
        int64_t classes[1] = {CLASSES};
        memset(&r, 0x7f, sizeof r);
        for (int i = 0; i < BATCH * DEPTH; i++) r.x[i] = sinf((float)(i * i + turn));
        for (int i = 0; i < CLASSES * DEPTH; i++) r.w[i] = cosf((float)(3 * i * i + turn));
        for (int i = 0; i < CLASSES; i++) r.b[i] = 0.1f * (float)i;
        int counted = 0;
        for (int i = 0; i < BATCH; i++) {
            r.labels[i] = i == 4 ? -7 : i == 5 ? CLASSES : i % CLASSES; /* two are no classes */
            counted += r.labels[i] >= 0 && r.labels[i] < CLASSES && r.labels[i] != (int)o->ignore_index;
        }
        for (int i = 0; i < BATCH; i++) r.dloss[i] = 1 / (float)counted;
        const DLTensor x = matrix(r.x, xs, NULL), w = matrix(r.w, ws, columns ? turned : NULL),
                       dx = matrix(r.dx, xs, NULL);
        const DLTensor dw = matrix(r.dw, ws, columns ? turned : NULL);
        DLTensor b = matrix(r.b, classes, NULL), db = matrix(r.db, classes, NULL), loss = matrix(r.loss, rows, NULL);
        DLTensor lse = matrix(r.lse, rows, NULL), dloss = matrix(r.dloss, rows, NULL), labels = loss;
        labels.data = r.labels, labels.dtype = ridge_dtype_to_dlpack(RIDGE_I32);
        b.ndim = db.ndim = loss.ndim = lse.ndim = dloss.ndim = labels.ndim = 1;
        const ridge_cross_entropy_options *given = turn / 2 == 0 ? NULL : o;
        ridge_error error = {0};
        ridge_status status = ridge_linear_cross_entropy_grad(f->context, &x, &w, &b, &labels, &dloss, given, &loss,
                                                              &lse, &dx, &dw, &db, &error);
        if (status != RIDGE_OK) fail_msg("%s", error.text);
        double mean = 0;
        for (int i = 0; i < BATCH; i++) mean += (double)r.loss[i] / counted;
        assert_true(fabs(mean - mean_loss(&r, wc, wd, o)) < 1e-6);
        assert_true(r.loss[4] >= 0 && r.loss[4] <= 0 && r.loss[5] >= 0 && r.loss[5] <= 0);
        check_slopes(&r, r.dx, r.x, BATCH * DEPTH, wc, wd, o);
        check_slopes(&r, r.dw, r.w, CLASSES * DEPTH, wc, wd, o);
        check_slopes(&r, r.db, r.b, CLASSES, wc, wd, o);
        regression again = r;
        memset(r.dx, 0x7f, sizeof r.dx), memset(r.dw, 0x7f, sizeof r.dw), memset(r.db, 0x7f, sizeof r.db);
        memset(r.loss, 0x7f, sizeof r.loss), memset(r.lse, 0x7f, sizeof r.lse);
        assert_int_equal(ridge_linear_cross_entropy(f->context, &x, &w, &b, &labels, given, &loss, &lse, NULL),
                         RIDGE_OK);
        /* by another way perhaps: the same but for roundings */
        for (int i = 0; i < BATCH; i++)
            assert_true(fabsf(r.loss[i] - again.loss[i]) < 1e-5f && fabsf(r.lse[i] - again.lse[i]) < 1e-5f);
        assert_int_equal(ridge_linear_cross_entropy_backward(f->context, &x, &w, &b, &labels, &lse, &dloss, given, &dx,
                                                             &dw, &db, NULL),
                         RIDGE_OK);
        check_slopes(&r, r.dx, r.x, BATCH * DEPTH, wc, wd, o);
        check_slopes(&r, r.dw, r.w, CLASSES * DEPTH, wc, wd, o);
        check_slopes(&r, r.db, r.b, CLASSES, wc, wd, o);
    }
}

/* So many threads that their sums of gradients are not kept apart, more than there are strips of rows, and a w that
 * they pack together: the same results as of one. */
static void many_threads_agree_with_one(void **state) {
    (void)state;
    enum { ROWS_HERE = 70, D = 1000, C = 600, FLOATS = ROWS_HERE * (D + 2) + C * (D + 1) };
    static const int threads[2] = {1, 40};
    int64_t xs[2] = {ROWS_HERE, D}, ws[2] = {C, D}, turned[2] = {1, C}, rows[1] = {ROWS_HERE}, classes[1] = {C};
    float *in = calloc(FLOATS, sizeof *in), *out[2];
    int32_t labels[ROWS_HERE];
    assert_non_null(in);
    for (int i = 0; i < ROWS_HERE; i++) labels[i] = i * 37 % C;
    for (int i = 0; i < FLOATS; i++) in[i] = sinf((float)i * 0.37f) * (i < ROWS_HERE * (D + 2) ? 1 : 0.05f);
    for (int k = 0; k < 2; k++) {
        ridge_context *context = NULL;
        assert_int_equal(ridge_context_create(threads[k], &context, NULL), RIDGE_OK);
        out[k] = calloc(FLOATS, sizeof **out);
        assert_non_null(out[k]);
        float *parts[2][5];
        for (int side = 0; side < 2; side++) {
            float *base = side ? out[k] : in;
            const int64_t sizes[5] = {ROWS_HERE * D, ROWS_HERE, ROWS_HERE, C * D, C};
            for (int p = 0; p < 5; p++) parts[side][p] = base, base += sizes[p];
        }
        const DLTensor x = matrix(parts[0][0], xs, NULL), w = matrix(parts[0][3], ws, NULL);
        const DLTensor dx = matrix(parts[1][0], xs, NULL), dw = matrix(parts[1][3], ws, k ? turned : NULL);
        DLTensor b = matrix(parts[0][4], classes, NULL), db = matrix(parts[1][4], classes, NULL);
        DLTensor up = matrix(parts[0][1], rows, NULL), loss = matrix(parts[1][1], rows, NULL), lse = loss, label = loss;
        lse.data = parts[1][2], label.data = labels, label.dtype = ridge_dtype_to_dlpack(RIDGE_I32);
        b.ndim = db.ndim = up.ndim = loss.ndim = lse.ndim = label.ndim = 1;
        assert_int_equal(
            ridge_linear_cross_entropy_grad(context, &x, &w, &b, &label, &up, NULL, &loss, &lse, &dx, &dw, &db, NULL),
            RIDGE_OK);
        ridge_context_destroy(context);
    }
    for (int i = 0; i < ROWS_HERE * (D + 2); i++) assert_true(fabsf(out[0][i] - out[1][i]) < 1e-5f);
    const float *one = out[0] + ROWS_HERE * (D + 2), *many = out[1] + ROWS_HERE * (D + 2);
    for (int c = 0; c < C; c++)
        for (int d = 0; d < D; d++) assert_true(fabsf(one[c * D + d] - many[d * C + c]) < 1e-5f);
    for (int c = C * D; c < C * (D + 1); c++) assert_true(fabsf(one[c] - many[c]) < 1e-5f);
    free(in), free(out[0]), free(out[1]);
}

/* float32 stays float32 on a device without cases of tf32. */
static void tf32_is_taken_where_there_is_some(void **state) {
    fixture *f = *state;
    ridge_context_allow_tf32(f->context, true);
    assert_int_equal(ridge_l2norm(f->context, &f->in, &f->out, NULL), RIDGE_OK);
    gradients_are_slopes_of_the_loss(state);
}

static void indices_of_64_bits_are_taken(void **state) {
    fixture *f = *state;
    enum { TABLE = 9, WIDTH = 5, BAGS = 4, BAG = 3 };
    float table[TABLE * WIDTH], sums[2][BAGS * WIDTH];
    int32_t narrow[BAGS * BAG];
    int64_t wide[BAGS * BAG], extents[3][2] = {{TABLE, WIDTH}, {BAGS, BAG}, {BAGS, WIDTH}};
    for (int i = 0; i < TABLE * WIDTH; i++) table[i] = (float)(i % 7) / 8;
    for (int i = 0; i < BAGS * BAG; i++) wide[i] = narrow[i] = 7 * i % TABLE;
    for (int k = 0; k < 2; k++) {
        const DLTensor like = {.device = {kDLCPU, 0}, .ndim = 2, .dtype = ridge_dtype_to_dlpack(RIDGE_F32)};
        DLTensor in[2] = {like, like}, out = like;
        in[0].data = table, in[0].shape = extents[0];
        in[1].data = k ? (void *)wide : (void *)narrow, in[1].shape = extents[1];
        in[1].dtype = ridge_dtype_to_dlpack(k ? RIDGE_I64 : RIDGE_I32);
        out.data = sums[k], out.shape = extents[2];
        assert_int_equal(ridge_apply(f->context, "software_prefetch", NULL, in, 2, &out, 1, NULL, NULL), RIDGE_OK);
    }
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    assert_true(sums[0][0] > 0);
}

/* ---- measured ways ---- */

/* A file that names the way for 7x10x4, one thread and every instruction set. */
static void write_tuned(const char *path, const char *way) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "ridge-tuned 1\n");
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
        fprintf(file, "%sx1 linear_softmax cpu/optimized %s f32 7x10x4 0 -\n", ridge_isa_name((ridge_isa)isa), way);
    assert_int_equal(fclose(file), 0);
}

/* The way of softmax(x w + b) of so many rows; all rows sum to one. */
static const char *way_of_rows(ridge_context *context, int64_t rows) {
    static float x[8 * 10], w[10 * 4], b[4], y[8 * 4];
    int64_t x_shape[] = {rows, 10}, w_shape[] = {10, 4}, y_shape[] = {rows, 4};
    const DLTensor tx = matrix(x, x_shape, NULL), tw = matrix(w, w_shape, NULL), ty = matrix(y, y_shape, NULL);
    DLTensor tb = matrix(b, &w_shape[1], NULL);
    tb.ndim = 1;
    for (int i = 0; i < 8 * 10; i++) x[i] = sinf((float)i);
    for (int i = 0; i < 10 * 4; i++) w[i] = cosf((float)i);
    for (int i = 0; i < 8 * 4; i++) y[i] = NAN;
    assert_int_equal(ridge_linear_softmax(context, &tx, &tw, &tb, &ty, NULL), RIDGE_OK);
    for (int64_t i = 0; i < rows; i++)
        assert_true(fabsf(y[i * 4] + y[i * 4 + 1] + y[i * 4 + 2] + y[i * 4 + 3] - 1) < 1e-5f);
    return ridge_context_last_way(context);
}

static void a_context_takes_the_ways_of_its_file(void **state) {
    static const char *const ways[] = {"fused", "product", "fused"};
    ridge_context *context = NULL;
    char path[] = "/tmp/ridge-tuned-XXXXXX";
    const int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0 && close(file) == 0);
    assert_int_equal(ridge_context_create(1, &context, NULL), RIDGE_OK);
    assert_null(ridge_context_last_way(context));
    const char *predicted = way_of_rows(context, 8);
    assert_non_null(predicted);
    for (int i = 0; i < 3; i++) {
        write_tuned(path, ways[i]);
        assert_int_equal(ridge_context_use_tuned(context, path, NULL), RIDGE_OK);
        assert_string_equal(way_of_rows(context, 7), ways[i]);
        assert_string_equal(way_of_rows(context, 8), predicted); /* the file has nothing on this shape */
    }
    ridge_context_destroy(context);
    assert_int_equal(remove(path), 0);
}

static void a_call_in_a_structure_is_the_same_call(void **state) {
    fixture *f = *state;
    float y[ROWS * COLS];
    ridge_error error = {0};
    const DLTensor out = matrix(y, f->shape, NULL);
    assert_int_equal(ridge_apply(f->context, "scaled_softmax", NULL, &f->in, 1, &out, 1, NULL, &error), RIDGE_OK);
    ridge_packed_call call = {
        .context = f->context, .target = "scaled_softmax", .in = &f->in, .out = &f->out, .n_in = 1, .n_out = 1};
    call.error = &error;
    assert_int_equal(ridge_apply_packed(&call), RIDGE_OK);
    assert_memory_equal(f->y, y, sizeof y);
    call.options = (const double[RIDGE_MAX_OPTIONS]){NAN, 0, 0, 0};
    assert_int_equal(ridge_apply_packed(&call), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "scale is nan"));
    assert_int_equal(ridge_apply_packed(NULL), RIDGE_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_in_a_structure_is_the_same_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_told_from_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gradients_are_slopes_of_the_loss, set_up, tear_down),
        cmocka_unit_test(a_context_takes_the_ways_of_its_file),
        cmocka_unit_test(many_threads_agree_with_one),
        cmocka_unit_test_setup_teardown(indices_of_64_bits_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tf32_is_taken_where_there_is_some, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_have_length_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_sum_to_one_in_every_variant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_named_way_runs_and_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strided_rows_leave_the_gaps_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
