/* Forecasts of cases, and how a run's time is shared among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/random.h"
#include "fixture_run.h"
#include "roofline/budget.h"
#include "verify/check.h"

enum { MOST = 24 };
static const double cap = 2, patience = 60;

static ridge_planned planned(double checks_s, double least_s) {
    return (ridge_planned){.forecast = {checks_s, least_s / RIDGE_LEAST_ROUNDS},
                           .least_rounds = RIDGE_LEAST_ROUNDS,
                           .max_time = cap,
                           .patience = patience};
}

/* A case that took `times` its forecast. */
static void finish(ridge_budget *b, int index, double times) {
    ridge_planned *p = &b->cases[index];
    p->rounds = p->least_rounds;
    p->rounds_s = times * p->rounds * p->forecast.round_s;
    p->taken_s = times * p->forecast.checks_s + p->rounds_s;
    ridge_budget_learn(b, p);
}

static void without_a_limit_nothing_changes(void **state) {
    ridge_planned cases[] = {planned(1, 90), planned(0, 0), planned(5, 0.1)};
    ridge_budget b = {.cases = cases, .n = 3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ridge_budget_next(&b, HUGE_VAL), i);
        assert_true(cases[i].max_time == cap && cases[i].patience == patience);
    }
    assert_int_equal(ridge_budget_next(&b, HUGE_VAL), -1);
}

static void what_fits_is_shared_equally(void **state) {
    /* 10 s, of which checks take 3 s: the last case needs 4 s, and 1.5 s are left for each of the others. */
    ridge_planned cases[] = {planned(1, 0.1), planned(1, 1), planned(1, 4)};
    ridge_budget b = {.cases = cases, .n = 3};
    (void)state;
    cases[2].max_time = 60;
    assert_int_equal(ridge_budget_next(&b, 10), 0);
    assert_float_equal(cases[0].max_time, 1.5, 1e-6);
    assert_int_equal(ridge_budget_next(&b, 10 - 2.5), 1);
    assert_float_equal(cases[1].max_time, 1.5, 1e-6);
    assert_int_equal(ridge_budget_next(&b, 10 - 5), 2);
    assert_float_equal(cases[2].max_time, 4, 1e-6);
    assert_true(cases[2].patience >= 4 && cases[2].patience <= 5);
}

static void a_case_that_ends_early_leaves_its_time(void **state) {
    ridge_planned cases[] = {planned(0, 0.1), planned(0, 0.1), planned(0, 0.1)};
    ridge_budget b = {.cases = cases, .n = 3};
    (void)state;
    assert_int_equal(ridge_budget_next(&b, 3), 0);
    assert_float_equal(cases[0].max_time, 1, 1e-6);
    assert_int_equal(ridge_budget_next(&b, 2.9), 1);
    assert_float_equal(cases[1].max_time, 1.45, 1e-6);
    assert_int_equal(ridge_budget_next(&b, 2.8), 2);
    assert_float_equal(cases[2].max_time, cap, 1e-6);
}

static void the_longest_are_passed_over_and_have_a_second_chance(void **state) {
    ridge_planned cases[] = {planned(1, 8), planned(1, 1), planned(2, 18), planned(1, 1)};
    ridge_budget b = {.cases = cases, .n = 4};
    (void)state;
    assert_int_equal(ridge_budget_next(&b, 6), 1);
    assert_int_equal(cases[0].state, RIDGE_PLAN_PASSED_OVER);
    assert_int_equal(ridge_budget_next(&b, 4), 3);
    assert_int_equal(cases[2].state, RIDGE_PLAN_PASSED_OVER);
    assert_int_equal(ridge_budget_next(&b, 2), -1);
    assert_int_equal(ridge_budget_next(&b, 19), 0); /* the shortest of those that were passed over */
    assert_int_equal(ridge_budget_next(&b, 19), -1);
    assert_int_equal(ridge_budget_next(&b, 20), 2);
    assert_int_equal(ridge_budget_next(&b, 20), -1);
}

static void no_time_starts_nothing(void **state) {
    ridge_planned cases[] = {planned(0.1, 0.1), planned(0.1, 0.1)};
    ridge_budget b = {.cases = cases, .n = 2};
    (void)state;
    assert_int_equal(ridge_budget_next(&b, -3), -1);
    assert_int_equal(ridge_budget_next(&b, 0), -1);
    for (int i = 0; i < 2; i++) assert_int_equal(cases[i].state, RIDGE_PLAN_PASSED_OVER);
}

static void finished_cases_correct_the_others_of_their_backend(void **state) {
    ridge_planned cases[] = {planned(5, 5), planned(1, 1), planned(1, 1)};
    ridge_budget b = {.cases = cases, .n = 3};
    (void)state;
    cases[2].backend = RIDGE_BACKEND_cuda;
    assert_float_equal(ridge_budget_least_s(&b, &cases[1]), 2, 1e-6);
    finish(&b, 0, 4);
    const double seen = ridge_budget_least_s(&b, &cases[1]);
    assert_true(seen > 2 * 2 && seen < 2 * 4);
    assert_float_equal(ridge_budget_least_s(&b, &cases[2]), 2, 1e-6);
    for (int i = 0; i < 100; i++) finish(&b, 0, 1); /* the load has gone */
    assert_true(ridge_budget_least_s(&b, &cases[1]) < 2.1);
    /* Rounds that did not come, or took longer than everything together, teach nothing. */
    const ridge_planned none = {.taken_s = 100, .least_rounds = 8}, odd = {.taken_s = 1, .rounds_s = 2, .rounds = 1};
    const double before = ridge_budget_least_s(&b, &cases[1]);
    ridge_budget_learn(&b, &none);
    ridge_budget_learn(&b, &odd);
    assert_true(ridge_budget_least_s(&b, &cases[1]) == before);
}

/* A forecast that is far off, as of a case whose operands are large, does not pass over all others. */
static void one_wrong_forecast_says_little_of_the_others(void **state) {
    ridge_planned cases[] = {planned(2, 1), planned(1, 1), planned(1, 1)};
    ridge_budget b = {.cases = cases, .n = 3};
    (void)state;
    finish(&b, 0, 30);
    assert_true(ridge_budget_least_s(&b, &cases[1]) < 2 * 5);
    finish(&b, 1, 1);
    finish(&b, 1, 1);
    assert_true(ridge_budget_least_s(&b, &cases[2]) < 2 * 3);
}

static double drawn(uint64_t *seed, double below) { return below * (double)(ridge_random(1, (*seed)++) % 1000) / 1000; }

/* Whatever the cases, where each takes what was forecast and its share: the time is kept, every case is decided on, and
 * a case that was left out would not have fit. */
static void the_time_is_kept(void **state) {
    uint64_t seed = 0;
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        ridge_planned cases[MOST];
        ridge_budget b = {.cases = cases, .n = 1 + (int)drawn(&seed, MOST)};
        for (int i = 0; i < b.n; i++) {
            const double checks = drawn(&seed, 10);
            cases[i] = planned(checks, drawn(&seed, 10));
        }
        double left = drawn(&seed, 100);
        for (int i; (i = ridge_budget_next(&b, left)) >= 0;) {
            ridge_planned *p = &cases[i];
            const double least = p->least_rounds * p->forecast.round_s;
            assert_true(p->max_time >= fmin(least, cap) - 1e-9 && p->max_time <= cap && p->patience >= p->max_time);
            assert_true(p->patience >= fmin(least, left) - 1e-9);
            left -= p->forecast.checks_s + fmax(least, p->max_time);
            finish(&b, i, 1);
        }
        assert_true(left >= -1e-6);
        for (int i = 0; i < b.n; i++) {
            assert_int_not_equal(cases[i].state, RIDGE_PLAN_WAITS);
            if (cases[i].state == RIDGE_PLAN_PASSED_OVER) assert_true(ridge_budget_least_s(&b, &cases[i]) > left);
        }
    }
}

/* ---- forecasts ---- */

static ridge_job job_of(const ridge_target *target, int index, const int *variants, int n) {
    return (ridge_job){.target = target,
                       .c = target->cases[index],
                       .variants = variants,
                       .n_variants = n,
                       .threads = 2,
                       .last_level = 1 << 24};
}

static void forecasts_follow_work_and_ceilings(void **state) {
    const int both[] = {0, 1}, baseline[] = {0};
    ridge_ceilings slow = fixture_ceilings(), fast = fixture_ceilings();
    (void)state;
    for (int i = 0; i < fast.n_levels; i++) {
        fast.levels[i].copy.median *= 10;
        fast.levels[i].stream.median *= 10;
    }
    for (int i = 0; i < fast.n_peaks; i++) fast.peaks[i].gflops.median *= 10;
    ridge_job job = job_of(&fixture_matmul, 0, both, 2), larger = job, fewer = job_of(&fixture_matmul, 0, baseline, 1);
    for (int d = 0; d < ridge_target_rank(&fixture_matmul); d++) larger.c.dim[d] *= 8;
    const ridge_forecast f = ridge_forecast_job(&job, &slow, &slow), l = ridge_forecast_job(&larger, &slow, &slow),
                         q = ridge_forecast_job(&larger, &fast, &fast), s = ridge_forecast_job(&fewer, &slow, &slow),
                         unknown = ridge_forecast_job(&larger, NULL, NULL);
    assert_true(f.checks_s > 0 && f.round_s > 0);
    assert_true(l.checks_s > f.checks_s && l.round_s > 2 * f.round_s);
    assert_true(q.checks_s < l.checks_s && q.round_s < l.round_s / 2);
    assert_true(s.round_s < f.round_s);
    assert_true(isfinite(unknown.checks_s) && unknown.round_s > 0);
}

static double check_flops(ridge_case c) {
    const int both[] = {0, 1};
    ridge_job job = job_of(&fixture_matmul, 0, both, 2);
    job.c = c;
    return ridge_job_check_flops(&job);
}

/* Where the oracle would take hours, some rows are checked, and the forecast is of those; a row is not divided. */
static void checks_of_huge_cases_are_of_some_rows(void **state) {
    const ridge_case huge = {.dim = {1 << 16, 1 << 16, 1 << 16}, .dtype = RIDGE_F32},
                     large = {.dim = {4096, 4096, 4096}}, row = {.dim = {1, 1 << 20, 1 << 20}, .dtype = RIDGE_F32};
    (void)state;
    assert_true(ridge_check_full_cost(&fixture_matmul, &huge) > 1e14);
    assert_true(check_flops(huge) > 1e11 && check_flops(huge) < 1e12);
    assert_true(check_flops(large) == ridge_check_full_cost(&fixture_matmul, &large));
    assert_true(ridge_check_full_cost(&fixture_matmul, &row) > 1e12);
    assert_true(check_flops(row) == ridge_check_full_cost(&fixture_matmul, &row));
}

/* A launch is forecast no faster than its ceilings allow. */
static void forecasts_are_no_floor(void **state) {
    const int both[] = {0, 1};
    const ridge_ceilings c = fixture_ceilings();
    (void)state;
    for (int i = 0; i < fixture_matmul.n_cases; i++) {
        const ridge_job job = job_of(&fixture_matmul, i, both, 2);
        ridge_work work;
        fixture_matmul.work(&job.c, &work);
        const double floor_s = 1e-6 * ridge_floor_us(&work, &c, false, "fp32");
        assert_true(ridge_forecast_job(&job, &c, &c).round_s > 4 * floor_s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_nothing_changes),
        cmocka_unit_test(what_fits_is_shared_equally),
        cmocka_unit_test(a_case_that_ends_early_leaves_its_time),
        cmocka_unit_test(the_longest_are_passed_over_and_have_a_second_chance),
        cmocka_unit_test(no_time_starts_nothing),
        cmocka_unit_test(finished_cases_correct_the_others_of_their_backend),
        cmocka_unit_test(one_wrong_forecast_says_little_of_the_others),
        cmocka_unit_test(the_time_is_kept),
        cmocka_unit_test(forecasts_follow_work_and_ceilings),
        cmocka_unit_test(forecasts_are_no_floor),
        cmocka_unit_test(checks_of_huge_cases_are_of_some_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
