/* The check: passes what is right in every layout and type, and fails every single thing that is not. */
#include "verify_fixture.h"

#include <math.h>
#include <stdio.h>

#include "verify/check.h"
#include "verify/judge.h"
#include "verify/view.h"

static const ridge_layout layouts[] = {{0}, {.row_pad = 3}, {.misalign = 1}, {17, 5, 0}, {2, 1, 3}};
enum { LAYOUTS = 4 };

static ridge_case case_of(int64_t rows, int64_t cols, int64_t table, ridge_dtype dtype) {
    return (ridge_case){.dim = {rows, cols, table}, .dtype = dtype};
}

/* One in eight is large enough for the team to share it. */
static ridge_case random_case(uint64_t seed) {
    int64_t scale = seed % 8 == 7 ? 6 : 1;
    static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64};
    return case_of(1 + scale * (int64_t)(ridge_random(seed, 1) % 40), 1 + scale * (int64_t)(ridge_random(seed, 2) % 70),
                   1 + (int64_t)(ridge_random(seed, 3) % 9), dtypes[ridge_random(seed, 4) % 4]);
}

static ridge_check full(const ridge_operands *ops, ridge_team *team) {
    ridge_check check;
    ridge_error error;
    assert_int_equal(ridge_check_full(ops, team, &check, &error), RIDGE_OK);
    return check;
}

static ridge_check sampled(const ridge_operands *ops, uint64_t seed, int64_t rows, ridge_team *team) {
    ridge_check check;
    ridge_error error;
    assert_int_equal(ridge_check_sample(ops, seed, rows, team, &check, &error), RIDGE_OK);
    return check;
}

static void right_passes(void **state) {
    ridge_team *team = *state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        ridge_operands *ops = operands_new(&fixture_target, random_case(seed), layouts[seed % LAYOUTS]);
        for (int kind = RIDGE_EXACT; kind <= RIDGE_SPECIAL; kind++) {
            ridge_operands_fill(ops, (ridge_fill_kind)kind, seed, seed & 1 ? team : NULL);
            fixture_run(ops);
            ridge_check check = full(ops, seed & 2 ? team : NULL);
            if (!check.ok) fail_msg("seed %d kind %d: %s", (int)seed, kind, check.text);
            assert_true(check.worst <= 1);
            assert_int_equal(check.rows_checked, ops->c.dim[0]);
            check = sampled(ops, seed, 5, team);
            if (!check.ok) fail_msg("seed %d kind %d, sampled: %s", (int)seed, kind, check.text);
        }
        operands_delete(ops);
    }
}

/* One right run, ready to be spoilt; the seed picks case and layout. */
static ridge_operands *right_run(uint64_t seed, ridge_fill_kind kind) {
    ridge_operands *ops = operands_new(&fixture_target, random_case(seed), layouts[seed % LAYOUTS]);
    ridge_operands_fill(ops, kind, seed, NULL);
    fixture_run(ops);
    return ops;
}

static char *element_at(const ridge_view *view, int64_t e) {
    ridge_view_run run;
    assert_true(ridge_view_next(view, &e, e + 1, &run));
    return run.at;
}

static int64_t any(uint64_t seed, int64_t n) { return (int64_t)(ridge_random(seed, 55) % (uint64_t)n); }

/* Every byte of the set belongs to an input, an output or a guard: a change of any of them is seen, and said rightly.
 */
static void any_changed_byte_is_seen(void **state) {
    ridge_team *team = *state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_EXACT);
        size_t step = ops->bytes / 100 + 1;
        for (size_t i = (size_t)any(seed, (int64_t)step); i < ops->bytes; i += step) {
            ops->memory[i] ^= 0x10;
            ridge_check check = full(ops, i & 1 ? team : NULL);
            if (check.ok) fail_msg("seed %d: byte %zu of %zu changed unseen", (int)seed, i, ops->bytes);
            assert_true(strlen(check.text) > 8);
            ops->memory[i] ^= 0x10;
        }
        assert_true(full(ops, team).ok);
        operands_delete(ops);
    }
}

static void unwritten_element_is_seen_and_named(void **state) {
    ridge_team *team = *state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_RANDOM);
        ridge_view view = ridge_operands_view(ops, 4 + (int)(seed & 1));
        int64_t e = any(seed, view.elements);
        uint64_t poison = ridge_poison_bits(view.dtype);
        memcpy(element_at(&view, e), &poison, view.size);
        char want[200];
        if (seed & 1)
            snprintf(want, sizeof want, "s[%lld] was never written", (long long)e);
        else
            snprintf(want, sizeof want, "y[%lld,%lld] was never written", (long long)(e / view.row),
                     (long long)(e % view.row));
        ridge_check check = full(ops, team);
        assert_false(check.ok);
        assert_string_equal(check.text, want);
        check = sampled(ops, seed, 0, team); /* whatever the rows drawn */
        assert_false(check.ok);
        assert_string_equal(check.text, want);
        operands_delete(ops);
    }
}

/* NaN and infinity anywhere are seen even by a sample that draws no rows: the oracle is asked about just those rows. */
static void not_finite_is_seen_without_drawing_its_row(void **state) {
    ridge_team *team = *state;
    static const double odd[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (uint64_t seed = 0; seed < 100; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_RANDOM);
        ridge_view view = ridge_operands_view(ops, 4);
        ridge_store(element_at(&view, any(seed, view.elements)), view.dtype, 0, odd[seed % 3]);
        assert_false(full(ops, team).ok);
        assert_false(sampled(ops, seed, 0, team).ok);
        operands_delete(ops);
    }
}

/* Where the inputs are NaN the outputs must be: a finite number there is wrong. */
static void finite_for_nan_is_wrong(void **state) {
    ridge_team *team = *state;
    int met = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_SPECIAL);
        ridge_view view = ridge_operands_view(ops, 4);
        for (int64_t e = 0; e < view.elements; e++) {
            double v = ridge_load(element_at(&view, e), view.dtype, 0);
            if (isfinite(v)) continue;
            ridge_store(element_at(&view, e), view.dtype, 0, isnan(v) ? 0.0 : -v);
            assert_false(full(ops, team).ok);
            ridge_store(element_at(&view, e), view.dtype, 0, isnan(v) ? (double)INFINITY : 65504.0);
            assert_false(full(ops, team).ok);
            met++;
            break;
        }
        operands_delete(ops);
    }
    assert_true(met > 20);
}

/* A target of fp64 whose bound the test sets: y = x, so that errors can be placed exactly. */
static ridge_bound the_bound;
static void copy_oracle(const ridge_oracle_call *call) {
    memcpy(call->out[0], call->in[0], (size_t)(call->dim[0] * call->dim[1]) * sizeof(double));
}
static void copy_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound) {
    (void)call, (void)kind, (void)output;
    *bound = the_bound;
}
static const ridge_tensor_spec copy_in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec copy_out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};
static const ridge_target copy_target = {
    .name = "copy",
    .dims = {"rows", "cols"},
    .in = RIDGE_LIST(copy_in),
    .out = RIDGE_LIST(copy_out),
    .work = fixture_work,
    .oracle = copy_oracle,
    .bound = copy_bound,
};

static ridge_operands *copy_run(int64_t rows, int64_t cols, ridge_dtype dtype) {
    ridge_operands *ops = operands_new(&copy_target, case_of(rows, cols, 0, dtype), (ridge_layout){0});
    ridge_operands_fill(ops, RIDGE_RANDOM, 8, NULL);
    memcpy(ridge_data(&ops->out[0]), ridge_data(&ops->in[0]), (size_t)(rows * cols) * ridge_dtype_size(dtype));
    return ops;
}

static void bound_is_sharp(void **state) {
    (void)state;
    ridge_operands *ops = copy_run(30, 50, RIDGE_F64);
    double *y = ridge_data(&ops->out[0]);
    for (int64_t e = 0; e < 1500; e += 7) {
        double right = y[e];
        the_bound = (ridge_bound){.absolute = 1e-9, .relative = 1e-6};
        double tolerance = 1e-9 + 1e-6 * fabs(right);
        for (int sign = -1; sign <= 1; sign += 2) {
            y[e] = right + sign * 0.99 * tolerance;
            ridge_check check = full(ops, NULL);
            assert_true(check.ok);
            assert_true(fabs(check.worst - 0.99) < 1e-6);
            assert_true(fabs(check.max_abs_error - 0.99 * tolerance) < 1e-15);
            assert_true(fabs(check.max_rel_error - 0.99 * tolerance / fabs(right)) < 1e-12);
            y[e] = right + sign * 1.01 * tolerance;
            check = full(ops, NULL);
            assert_false(check.ok);
            assert_true(check.worst > 1 && check.worst < 1.02);
        }
        the_bound = (ridge_bound){0};
        y[e] = nextafter(right, 2);
        assert_false(full(ops, NULL).ok);
        y[e] = right;
        assert_true(full(ops, NULL).ok);
    }
    operands_delete(ops);
}

/* A broken bound must not open the gate. */
static void senseless_bounds_pass_nothing_wrong(void **state) {
    (void)state;
    ridge_operands *ops = copy_run(4, 5, RIDGE_F32);
    float *y = ridge_data(&ops->out[0]);
    the_bound = (ridge_bound){.absolute = (double)NAN};
    assert_false(full(ops, NULL).ok);
    the_bound = (ridge_bound){.absolute = -1};
    assert_false(full(ops, NULL).ok);
    the_bound = (ridge_bound){.absolute = (double)INFINITY};
    assert_true(full(ops, NULL).ok);
    y[3] = NAN;
    assert_false(full(ops, NULL).ok);
    y[3] = INFINITY;
    assert_false(full(ops, NULL).ok);
    operands_delete(ops);
}

static void two_x(const ridge_oracle_call *call) {
    for (int64_t e = 0; e < call->dim[0] * call->dim[1]; e++) call->out[0][e] = 2 * call->in[0][e];
}

/* A result beyond the type's range may be infinite, of its own sign and nothing else. */
static void overflow_is_infinite(void **state) {
    (void)state;
    ridge_target target = copy_target;
    target.oracle = two_x;
    the_bound = (ridge_bound){.relative = 0x1p-23};
    float x[3] = {3e38F, -3e38F, 1}, right[3] = {INFINITY, -INFINITY, 2};
    static const float wrong[] = {INFINITY, -INFINITY, 3.4e38F, -3.4e38F, 0, NAN, 2};
    ridge_user_input user = {x};
    ridge_operands *ops = operands_new(&target, case_of(1, 3, 0, RIDGE_F32), (ridge_layout){0});
    ops->user = &user;
    ridge_operands_fill(ops, RIDGE_RANDOM, 8, NULL);
    float *y = ridge_data(&ops->out[0]);
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < 7; w++) {
            memcpy(y, right, sizeof right);
            y[i] = wrong[w];
            assert_true(full(ops, NULL).ok == (wrong[w] == right[i]));
        }
    operands_delete(ops);
}

/* ---- underflow ------------------------------------------------------------------------------------------------- */

static void half_x(const ridge_oracle_call *call) {
    for (int64_t e = 0; e < call->dim[0] * call->dim[1]; e++) call->out[0][e] = call->in[0][e] / 2;
}

/* Whether `got` passes for x / 2, by a bound that leaves nothing but what a subnormal loses. */
static bool passes_for_half(double x, double got, ridge_dtype dtype) {
    ridge_target target = copy_target;
    char memory[8];
    ridge_store(memory, dtype, 0, x);
    ridge_user_input user = {memory};
    target.oracle = half_x;
    the_bound = (ridge_bound){.relative = 0x1p-60};
    ridge_operands *ops = operands_new(&target, case_of(1, 1, 0, dtype), (ridge_layout){0});
    ops->user = &user;
    ridge_operands_fill(ops, RIDGE_RANDOM, 8, NULL);
    ridge_store(ridge_data(&ops->out[0]), dtype, 0, got);
    const bool ok = full(ops, NULL).ok;
    operands_delete(ops);
    return ok;
}

/* A result of 10.5 steps may be rounded to either neighbour; fp32 has a second rounding before. */
static void subnormal_results_may_be_rounded(void **state) {
    (void)state;
    static const struct {
        ridge_dtype dtype;
        double step;
    } types[] = {{RIDGE_F32, 0x1p-149}, {RIDGE_BF16, 0x1p-133}, {RIDGE_F16, 0x1p-24}};
    for (int t = 0; t < 3; t++)
        for (int k = -12; k <= 30; k++) {
            const ridge_dtype dtype = types[t].dtype;
            const double step = types[t].step;
            const bool flushed = k == 0 && dtype != RIDGE_F16;
            assert_true(passes_for_half(21 * step, k * step, dtype) == (k == 10 || k == 11 || flushed));
            const bool near = dtype == RIDGE_F32 ? abs(k - 10) <= 1 : k == 10;
            assert_true(passes_for_half(20 * step, k * step, dtype) == (near || flushed));
        }
}

/* Zero may stand for what is below twice fp32's smallest normal number, and for nothing else; and nothing else may stand
 * for zero. */
static void subnormal_results_may_be_flushed(void **state) {
    (void)state;
    static const ridge_dtype types[] = {RIDGE_F32, RIDGE_BF16};
    for (int t = 0; t < 2; t++) {
        assert_true(passes_for_half(0x1.fp-125, 0, types[t]));
        assert_true(passes_for_half(-0x1.fp-125, 0, types[t]));
        assert_false(passes_for_half(0x1.02p-124, 0, types[t]));
        assert_false(passes_for_half(0x1.fp-126, -0x1.fp-127, types[t]));
        assert_false(passes_for_half(0, 0x1p-127, types[t]));
        assert_false(passes_for_half(0x1p-130, (double)NAN, types[t]));
    }
    assert_false(passes_for_half(0x1p-13, 0, RIDGE_F16));
    assert_false(passes_for_half(0x1p-126, 0, RIDGE_F64));
    /* A broken bound does not open this gate either. */
    assert_false(ridge_judge_odd(0, 0x1p-130, -1, RIDGE_F32));
    assert_false(ridge_judge_odd(0, 0x1p-130, (double)NAN, RIDGE_F32));
}

static void undecided_oracle(const ridge_oracle_call *call) { call->out[0][0] = RIDGE_UNDECIDED; }

static void undecided_takes_no_ordinary_number(void **state) {
    (void)state;
    static const struct {
        float got;
        bool ok;
    } cases[] = {{NAN, true},   {INFINITY, true}, {-INFINITY, true}, {0, true},
                 {-0.0F, true}, {1, false},       {-3e38F, false},   {0x1p-149F, false}};
    ridge_target target = copy_target;
    target.oracle = undecided_oracle;
    the_bound = (ridge_bound){.absolute = (double)INFINITY};
    ridge_operands *ops = operands_new(&target, case_of(1, 1, 0, RIDGE_F32), (ridge_layout){0});
    ridge_operands_fill(ops, RIDGE_RANDOM, 8, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        *(float *)ridge_data(&ops->out[0]) = cases[i].got;
        assert_true(full(ops, NULL).ok == cases[i].ok);
    }
    operands_delete(ops);
    assert_false(ridge_is_undecided((double)NAN));
}

/* How often each row is drawn: all alike, the first and the last more often. */
static void rows_are_drawn_evenly(void **state) {
    (void)state;
    enum { ROWS = 40, DRAWS = 2000 };
    the_bound = (ridge_bound){0};
    for (int64_t wanted = 3; wanted <= 43; wanted += 10) {
        int drawn[ROWS] = {0};
        for (int64_t row = 0; row < ROWS; row += row == 0 || row == ROWS - 2 ? 1 : 19) {
            ridge_operands *ops = copy_run(ROWS, 2, RIDGE_F32);
            ((float *)ridge_data(&ops->out[0]))[2 * row] += 1;
            for (uint64_t seed = 0; seed < DRAWS; seed++) {
                ridge_check check = sampled(ops, seed * 977, wanted, NULL);
                assert_int_equal(check.rows_checked, wanted < ROWS ? wanted : ROWS);
                drawn[row] += !check.ok;
            }
            operands_delete(ops);
            double share = (double)(wanted < ROWS ? wanted : ROWS) / ROWS, got = (double)drawn[row] / DRAWS;
            bool end = (row == 0 || row == ROWS - 1) && wanted <= ROWS / 4;
            if (end)
                assert_true(got > 0.45);
            else if (fabs(got - share) > 0.09)
                fail_msg("row %d, %d wanted: drawn %.3f", (int)row, (int)wanted, got);
        }
    }
}

static void sample_sees_changed_inputs_of_its_rows(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_RANDOM);
        ridge_view view = ridge_operands_view(ops, (int)(seed % 4));
        *element_at(&view, any(seed, view.elements)) ^= 1;
        ridge_check check = sampled(ops, seed, ops->c.dim[0], NULL);
        assert_false(check.ok);
        assert_non_null(strstr(check.text, "was changed"));
        operands_delete(ops);
    }
}

static void teams_agree_on_the_verdict(void **state) {
    ridge_team *team = *state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        ridge_operands *ops = right_run(seed, RIDGE_RANDOM);
        ridge_view view = ridge_operands_view(ops, 4);
        for (int64_t e = any(seed, view.elements); e < view.elements; e += 13)
            ridge_store(element_at(&view, e), view.dtype, 0, 3.5);
        ridge_check one = full(ops, NULL), many = full(ops, team);
        assert_false(one.ok);
        assert_string_equal(one.text, many.text);
        assert_true(one.worst == many.worst && one.max_abs_error == many.max_abs_error);
        operands_delete(ops);
    }
}

static void empty_is_right(void **state) {
    ridge_team *team = *state;
    static const int64_t shapes[][3] = {{0, 5, 3}, {4, 0, 3}, {0, 0, 1}, {0, 0, 0}};
    for (int i = 0; i < 4; i++)
        for (int l = 0; l < LAYOUTS; l++) {
            ridge_operands *ops =
                operands_new(&fixture_target, case_of(shapes[i][0], shapes[i][1], shapes[i][2], RIDGE_F32), layouts[l]);
            ridge_operands_fill(ops, RIDGE_SPECIAL, 1, team);
            fixture_run(ops);
            assert_true(full(ops, team).ok);
            assert_true(sampled(ops, 1, 9, team).ok);
            ops->memory[ops->bytes / 2] ^= 1;
            assert_false(full(ops, team).ok);
            operands_delete(ops);
        }
}

static void agreement_is_within_both_bounds(void **state) {
    ridge_team *team = *state;
    ridge_agreement agreement;
    ridge_error error;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ridge_operands *a = right_run(seed, RIDGE_SPECIAL);
        ridge_operands *b = operands_new(&fixture_target, a->c, layouts[(seed + 1) % LAYOUTS]);
        ridge_operands_fill(b, RIDGE_SPECIAL, seed, NULL);
        fixture_run(b);
        assert_int_equal(ridge_check_agree(a, b, team, &agreement, &error), RIDGE_OK);
        if (!agreement.agree || agreement.max_difference != 0)
            fail_msg("seed %d: differ by %g, %.3f equal", (int)seed, agreement.max_difference,
                     agreement.equal_fraction);
        ridge_view view = ridge_operands_view(b, 4);
        int64_t e = any(seed, view.elements);
        double old = ridge_load(element_at(&view, e), view.dtype, 0);
        ridge_store(element_at(&view, e), view.dtype, 0, isfinite(old) ? old + 1 : 1);
        assert_int_equal(ridge_check_agree(a, b, team, &agreement, &error), RIDGE_OK);
        assert_false(agreement.agree);
        assert_true(agreement.equal_fraction < 1);
        ridge_operands_fill(b, RIDGE_SPECIAL, seed + 1, NULL);
        assert_int_equal(ridge_check_agree(a, b, team, &agreement, &error), RIDGE_INVALID);
        operands_delete(a);
        operands_delete(b);
    }
}

/* y = x - x, of numbers of size 1 in every row, within a tenth of that size: results far smaller than what was summed.
 */
static void cancelling_oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) call->out[0][i] = 0;
    for (int64_t i = 0; i < call->dim[0]; i++) call->size[0][i] = 1;
}
static void cancelling_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound) {
    (void)call, (void)kind, (void)output;
    *bound = (ridge_bound){.sized = 0.1};
}

/* Who passes the check agrees: the size of a row is what the oracle says, where the values alone say less. */
static void rows_that_cancel_agree_by_their_size(void **state) {
    static const struct {
        float a, b;
        bool agree;
    } rows[] = {{0.05F, -0.05F, true}, {0.09F, -0.09F, true}, {0.05F, 0.05F, true}, {0.15F, -0.15F, false}};
    ridge_target target = fixture_target;
    ridge_team *team = *state;
    target.out = fixture_out;
    target.n_out = 1;
    target.oracle = cancelling_oracle;
    target.bound = cancelling_bound;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (int64_t cols = 1; cols <= 70; cols += 69) {
            ridge_operands *two[2];
            ridge_agreement agreement;
            ridge_error error;
            for (int i = 0; i < 2; i++) {
                two[i] = operands_new(&target, case_of(9, cols, 3, RIDGE_F32), layouts[i]);
                ridge_operands_fill(two[i], RIDGE_RANDOM, 5, NULL);
                for (int64_t e = 0; e < 9 * cols; e++)
                    ridge_store(ridge_data(&two[i]->out[0]), RIDGE_F32,
                                e / cols * ridge_row_stride(&two[i]->out[0]) + e % cols,
                                (double)(i ? rows[r].b : rows[r].a));
                assert_int_equal(full(two[i], team).ok, rows[r].agree);
            }
            assert_int_equal(ridge_check_agree(two[0], two[1], team, &agreement, &error), RIDGE_OK);
            assert_int_equal(agreement.agree, rows[r].agree);
            operands_delete(two[0]);
            operands_delete(two[1]);
        }
}

int main(void) {
    ridge_team *team = NULL;
    ridge_error error;
    if (ridge_team_create(3, NULL, &team, &error) != RIDGE_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(right_passes, team),
        cmocka_unit_test_prestate(any_changed_byte_is_seen, team),
        cmocka_unit_test_prestate(unwritten_element_is_seen_and_named, team),
        cmocka_unit_test_prestate(not_finite_is_seen_without_drawing_its_row, team),
        cmocka_unit_test_prestate(finite_for_nan_is_wrong, team),
        cmocka_unit_test(bound_is_sharp),
        cmocka_unit_test(senseless_bounds_pass_nothing_wrong),
        cmocka_unit_test(overflow_is_infinite),
        cmocka_unit_test(subnormal_results_may_be_rounded),
        cmocka_unit_test(subnormal_results_may_be_flushed),
        cmocka_unit_test(undecided_takes_no_ordinary_number),
        cmocka_unit_test(rows_are_drawn_evenly),
        cmocka_unit_test(sample_sees_changed_inputs_of_its_rows),
        cmocka_unit_test_prestate(teams_agree_on_the_verdict, team),
        cmocka_unit_test_prestate(empty_is_right, team),
        cmocka_unit_test_prestate(agreement_is_within_both_bounds, team),
        cmocka_unit_test_prestate(rows_that_cancel_agree_by_their_size, team),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ridge_team_destroy(team);
    return failed;
}
