/* Rows of more than one dimension, matrices by rows and by columns, fills with a scale: on a target that has them all.
 */
#include "verify_fixture.h"

#include <math.h>
#include <stdio.h>

#include "verify/check.h"
#include "verify/view.h"

enum { ROWS, DEPTH, CLASSES };
enum { X, W, L };

/* s[i] = l[i] sum_d x[i,d];  g[c,d] = w[c,d] sum_i x[i,d];  t[c] = w[c,0] sum_i s[i], from s as it was computed. */
static const ridge_tensor_spec mixed_in[] = {
    {.name = "x", .rank = 2, .dim = {ROWS, DEPTH}, .by_row = true, .takes_column_major = true},
    {.name = "w",
     .rank = 2,
     .dim = {CLASSES, DEPTH},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = DEPTH,
     .by_row = true,
     .takes_column_major = true},
    {.name = "l", .rank = 1, .dim = {ROWS}, .fill = RIDGE_FILL_LOG, .index_dim = CLASSES, .by_row = true},
};
static const ridge_tensor_spec mixed_out[] = {
    {.name = "s", .rank = 1, .dim = {ROWS}, .given = true},
    {.name = "g", .rank = 2, .dim = {CLASSES, DEPTH}, .takes_column_major = true},
    {.name = "t", .rank = 1, .dim = {CLASSES}, .dtype = RIDGE_F64},
};

static double column_sum(const ridge_oracle_call *call, int64_t d) {
    double sum = 0;
    for (int64_t i = 0; i < call->dim[ROWS]; i++) sum += call->in[X][i * call->dim[DEPTH] + d];
    return sum;
}

static void mixed_oracle(const ridge_oracle_call *call) {
    const int64_t depth = call->dim[DEPTH];
    assert_true((call->out[0] != NULL) == (call->rows == ROWS));
    assert_true((call->out[1] != NULL) == (call->rows == CLASSES) && (call->out[2] != NULL) == (call->out[1] != NULL));
    for (int64_t i = 0; i < call->dim[ROWS] && call->rows == ROWS; i++) {
        assert_true(call->row[i] < call->whole[ROWS] && (i == 0 || call->row[i] > call->row[i - 1]));
        double sum = 0;
        for (int64_t d = 0; d < depth; d++) sum += call->in[X][i * depth + d];
        call->out[0][i] = call->in[L][i] * sum;
    }
    for (int64_t c = 0; c < call->dim[CLASSES] && call->rows == CLASSES; c++) {
        assert_true(call->row[c] < call->whole[CLASSES]);
        call->out[2][c] = 0;
        for (int64_t i = 0; i < call->dim[ROWS]; i++) call->out[2][c] += call->in[W][c * depth] * call->given[0][i];
        for (int64_t d = 0; d < depth; d++)
            call->out[1][c * depth + d] = call->in[W][c * depth + d] * column_sum(call, d);
        call->size[1][c] = 1 + (double)c; /* of the chunk: only its being there is looked at */
    }
}

static double sized;
static void mixed_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound) {
    (void)kind;
    const double unit = ridge_dtype_roundoff(ridge_dtype_stored(call->dtype)), terms = 4 * (double)call->dim[ROWS] + 8;
    *bound = (ridge_bound){.absolute = 0x1p-20, .relative = output == 2 ? 1e-12 * terms : unit};
    bound->sized = output == 1 ? sized : 0;
}

static void mixed_work(const ridge_case *c, ridge_work *work) {
    *work = (ridge_work){(double)c->dim[0] * (double)c->dim[1] * (double)c->dim[2], 1, 1};
}

static const ridge_target mixed_target = {
    .name = "mixed",
    .dims = {"rows", "depth", "classes"},
    .in = RIDGE_LIST(mixed_in),
    .out = RIDGE_LIST(mixed_out),
    .work = mixed_work,
    .oracle = mixed_oracle,
    .bound = mixed_bound,
};

/* By the definition of strides alone. */
static char *place_of(const DLTensor *t, int64_t row, int64_t column) {
    const int64_t offset = t->ndim == 1 ? row
                           : t->strides ? row * t->strides[0] + column * t->strides[1]
                                        : row * t->shape[1] + column;
    return (char *)ridge_data(t) + offset * (t->dtype.bits / 8);
}
static double at(const DLTensor *t, int64_t row, int64_t column) {
    return ridge_load(place_of(t, row, column), ridge_dtype_of(t), 0);
}
static void put(const DLTensor *t, int64_t row, int64_t column, double v) {
    ridge_store(place_of(t, row, column), ridge_dtype_of(t), 0, v);
}

static void mixed_run(const ridge_operands *ops) {
    const int64_t *dim = ops->c.dim;
    double all = 0;
    for (int64_t i = 0; i < dim[ROWS]; i++) {
        double sum = 0;
        for (int64_t d = 0; d < dim[DEPTH]; d++) sum += at(&ops->in[X], i, d);
        put(&ops->out[0], i, 0, at(&ops->in[L], i, 0) * sum);
        all += at(&ops->out[0], i, 0);
    }
    for (int64_t c = 0; c < dim[CLASSES]; c++) {
        put(&ops->out[2], c, 0, at(&ops->in[W], c, 0) * all);
        for (int64_t d = 0; d < dim[DEPTH]; d++) {
            double sum = 0;
            for (int64_t i = 0; i < dim[ROWS]; i++) sum += at(&ops->in[X], i, d);
            put(&ops->out[1], c, d, at(&ops->in[W], c, d) * sum);
        }
    }
}

static int64_t draw(uint64_t seed, uint64_t i, int64_t n) { return (int64_t)(ridge_random(seed, i) % (uint64_t)n); }

static ridge_operands *mixed_operands(uint64_t seed) {
    static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64, RIDGE_TF32};
    const ridge_case c = {.dim = {1 + draw(seed, 1, 90), 1 + draw(seed, 2, 70), 1 + draw(seed, 3, 90)},
                          .dtype = dtypes[draw(seed, 4, 5)],
                          .column_major = (unsigned)draw(seed, 5, 16) & 0x13};
    const ridge_layout layout = {draw(seed, 6, 2) * draw(seed, 7, 9), draw(seed, 8, 9), draw(seed, 9, 3)};
    ridge_operands *ops = operands_new(&mixed_target, c, layout);
    ridge_operands_fill(ops, seed & 1 ? RIDGE_RANDOM : RIDGE_EXACT, seed, NULL);
    return ops;
}

static ridge_check checked(const ridge_operands *ops, int64_t wanted, uint64_t seed, ridge_team *team) {
    ridge_check check;
    ridge_error error;
    ridge_status status = wanted < 0 ? ridge_check_full(ops, team, &check, &error)
                                     : ridge_check_sample(ops, seed, wanted, team, &check, &error);
    assert_int_equal(status, RIDGE_OK);
    return check;
}

static void what_is_right_passes_and_each_fault_is_named(void **state) {
    (void)state;
    ridge_team *team = NULL;
    assert_int_equal(ridge_team_create(3, NULL, &team, NULL), RIDGE_OK);
    for (uint64_t seed = 0; seed < 120; seed++) {
        ridge_operands *ops = mixed_operands(seed);
        assert_false(checked(ops, -1, 0, team).ok); /* nothing is written yet */
        mixed_run(ops);
        ridge_check check = checked(ops, -1, 0, team);
        if (!check.ok) fail_msg("seed %d: %s", (int)seed, check.text);
        check = checked(ops, 1 + draw(seed, 10, 40), seed, team);
        if (!check.ok) fail_msg("seed %d, sampled: %s", (int)seed, check.text);
        for (int o = 0; o < 3; o++) {
            char name[40];
            const DLTensor *t = &ops->out[o];
            const int64_t r = draw(seed, 20 + (uint64_t)o, t->shape[0]);
            const int64_t d = t->ndim > 1 ? draw(seed, 30 + (uint64_t)o, t->shape[1]) : 0;
            const double right = at(t, r, d);
            (void)snprintf(name, sizeof name, t->ndim > 1 ? "%s[%d,%d]" : "%s[%d]", mixed_out[o].name, (int)r, (int)d);
            put(t, r, d, right + 1 + fabs(right));
            check = checked(ops, -1, 0, team);
            if (check.ok || !strstr(check.text, name)) fail_msg("%s was wrong: '%s'", name, check.text);
            assert_false(checked(ops, ops->c.dim[0], seed, team).ok);
            put(t, r, d, (double)NAN); /* found wherever the sample's rows are */
            assert_false(checked(ops, 1, seed, team).ok);
            const uint64_t poison = ridge_poison_bits(ridge_dtype_of(t));
            memcpy(place_of(t, r, d), &poison, t->dtype.bits / 8);
            check = checked(ops, 0, seed, team);
            (void)snprintf(name + strlen(name), sizeof name - strlen(name), " was never");
            if (check.ok || !strstr(check.text, name)) fail_msg("%s: '%s'", name, check.text);
            put(t, r, d, right);
        }
        const DLTensor *w = &ops->in[W];
        put(w, w->shape[0] - 1, w->shape[1] / 2, 3);
        check = checked(ops, -1, 0, team);
        char name[40];
        (void)snprintf(name, sizeof name, "w[%d,%d] was changed", (int)w->shape[0] - 1, (int)w->shape[1] / 2);
        if (check.ok || !strstr(check.text, name)) fail_msg("%s: '%s'", name, check.text);
        operands_delete(ops);
    }
    ridge_team_destroy(team);
}

/* Every element lies where the strides say, in columns where the case says so, and nothing overlaps. */
static void views_follow_the_strides(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        ridge_operands *ops = mixed_operands(seed);
        for (int t = 0; t < ridge_operands_count(ops); t++) {
            const DLTensor *tensor = t < 3 ? &ops->in[t] : &ops->out[t - 3];
            const ridge_view view = ridge_operands_view(ops, t);
            const bool column_major = ops->c.column_major >> t & 1;
            double *values = calloc((size_t)view.elements, sizeof *values);
            assert_non_null(values);
            if (column_major)
                assert_true(tensor->strides && tensor->strides[0] == 1 && tensor->strides[1] >= tensor->shape[0]);
            ridge_view_load(&view, 0, view.elements, values);
            for (int64_t e = 0; e < view.elements; e++) {
                const int64_t r = e / view.row, d = e % view.row, place = ridge_view_to_memory(&view, e);
                double one;
                int64_t position = place;
                ridge_view_run run;
                assert_true(ridge_view_next(&view, &position, place + 1, &run) && run.at == place_of(tensor, r, d));
                assert_int_equal(ridge_view_to_rows(&view, place), e);
                ridge_view_load(&view, e, 1, &one);
                const double want = at(tensor, r, d);
                assert_memory_equal(&one, &want, sizeof one);
                assert_memory_equal(&values[e], &want, sizeof one);
            }
            /* A stretch that begins and ends within rows. */
            const int64_t first = draw(seed, 40, view.elements), n = 1 + draw(seed, 41, view.elements - first);
            double *part = calloc((size_t)n, sizeof *part);
            assert_non_null(part);
            ridge_view_load(&view, first, n, part);
            assert_memory_equal(part, values + first, (size_t)n * sizeof *part);
            free(part);
            free(values);
        }
        operands_delete(ops);
    }
}

static void fills_have_their_scale(void **state) {
    (void)state;
    for (int64_t depth = 1; depth < 40000; depth = depth * 3 + 1)
        for (int kind = RIDGE_EXACT; kind <= RIDGE_RANDOM; kind++) {
            const ridge_case c = {.dim = {500, depth, 64}, .dtype = RIDGE_F32};
            ridge_case few = c;
            few.dim[ROWS] = 3;
            ridge_operands *ops = operands_new(&mixed_target, few, (ridge_layout){0});
            ridge_operands_fill(ops, (ridge_fill_kind)kind, 7, NULL);
            double most = 0, scale = 1;
            while (scale > 3 / sqrt((double)depth)) scale /= 2;
            assert_true(scale == 1 || 2 * scale > 3 / sqrt((double)depth));
            const float *w = ridge_data(&ops->in[W]), *l = ridge_data(&ops->in[L]);
            for (int64_t i = 0; i < 64 * depth; i++) {
                const double v = (double)w[i] / scale;
                most = fmax(most, fabs(v));
                if (kind == RIDGE_EXACT) assert_true(v >= v && floor(v) >= v);
            }
            assert_true(kind == RIDGE_EXACT ? fabs(most - 4) < 0.5 : most <= 1 && most > 0.9);
            for (int i = 0; i < 3; i++)
                assert_true(fabs((double)l[i] - 4) <= (kind == RIDGE_EXACT ? 4 : 1)); /* log 64 */
            operands_delete(ops);
        }
}

/* A tolerance in units of the row's size: 1 for the first of a chunk. */
static void sized_bounds_are_taken_by_the_row(void **state) {
    (void)state;
    const ridge_case c = {.dim = {4, 3, 1}, .dtype = RIDGE_F64};
    ridge_operands *ops = operands_new(&mixed_target, c, (ridge_layout){0});
    ridge_operands_fill(ops, RIDGE_RANDOM, 3, NULL);
    mixed_run(ops);
    put(&ops->out[1], 0, 1, at(&ops->out[1], 0, 1) + 0.25);
    assert_false(checked(ops, -1, 0, NULL).ok);
    sized = 0.26;
    assert_true(checked(ops, -1, 0, NULL).ok);
    sized = 0.24;
    assert_false(checked(ops, -1, 0, NULL).ok);
    sized = 0;
    operands_delete(ops);
}

static void only_some_tensors_lie_by_columns(void **state) {
    (void)state;
    size_t bytes;
    ridge_error error;
    const ridge_layout dense = {0};
    const ridge_case no = {.dim = {4, 3, 2}, .dtype = RIDGE_F32, .column_major = 1u << L};
    assert_int_equal(ridge_operands_bytes(&mixed_target, &no, &dense, &bytes, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "column-major"));
}

static void tf32_is_stored_as_f32(void **state) {
    (void)state;
    char one[4] = {0}, other[4] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        const double v = (ridge_random_unit(seed, 0) - 0.5) * 1e3;
        ridge_store(one, RIDGE_F32, 0, v);
        ridge_store(other, RIDGE_TF32, 0, v);
        assert_memory_equal(one, other, 4);
        assert_true(ridge_load(one, RIDGE_TF32, 0) == ridge_load(one, RIDGE_F32, 0));
    }
    assert_int_equal(ridge_dtype_parse("tf32"), RIDGE_TF32);
    assert_int_equal(ridge_dtype_size(RIDGE_TF32), 4);
    const DLTensor t = {.dtype = ridge_dtype_to_dlpack(RIDGE_TF32)};
    assert_int_equal(ridge_dtype_of(&t), RIDGE_F32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes_and_each_fault_is_named),
        cmocka_unit_test(views_follow_the_strides),
        cmocka_unit_test(fills_have_their_scale),
        cmocka_unit_test(sized_bounds_are_taken_by_the_row),
        cmocka_unit_test(only_some_tensors_lie_by_columns),
        cmocka_unit_test(tf32_is_stored_as_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
