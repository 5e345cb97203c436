/* Measurements of one case, joined: rounds go on, and what one of them found counts for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "measure/job.h"

enum { VARIANTS = 2, ROUNDS = 3 };

/* `rounds` rounds of two visits of both variants, a reference and one companion. Times tell measurements apart. */
static ridge_job_result result_of(int rounds, double time_us, ridge_outcome second) {
    ridge_job_result r = {.n_series = VARIANTS, .rounds = rounds, .rounds_s = rounds};
    r.series = calloc(VARIANTS, sizeof *r.series);
    r.companion = calloc(VARIANTS, sizeof *r.companion);
    ridge_series *all[] = {&r.series[0], &r.series[1], &r.reference, &r.companion[1]};
    r.series[1].outcome = second;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]->samples = calloc((size_t)(2 * rounds) + 1, sizeof *all[i]->samples);
        all[i]->n = 2 * rounds;
        all[i]->check = (ridge_check){.ok = true, .worst = time_us / 100};
        for (int k = 0; k < 2 * rounds; k++)
            all[i]->samples[k] = (ridge_sample){.round = k / 2, .visit = k % 2, .time_us = time_us};
    }
    if (second != RIDGE_OUTCOME_DONE) {
        r.series[1].n = r.companion[1].n = 0;
        (void)strcpy(r.series[1].reason, "a reason");
    }
    return r;
}

static void expect_rounds(const ridge_series *series, int rounds) {
    assert_int_equal(series->n, 2 * rounds);
    for (int i = 0; i < series->n; i++) assert_int_equal(series->samples[i].round, i / 2);
}

static void rounds_go_on(void **state) {
    ridge_job_result a = result_of(ROUNDS, 1, RIDGE_OUTCOME_DONE), b = result_of(5, 2, RIDGE_OUTCOME_DONE),
                     c = result_of(2, 7, RIDGE_OUTCOME_DONE);
    (void)state;
    assert_int_equal(ridge_job_result_join(&a, &b), RIDGE_OK);
    assert_int_equal(ridge_job_result_join(&a, &c), RIDGE_OK);
    assert_int_equal(a.n_measurements, 3);
    assert_int_equal(a.first_round[0], 0);
    assert_int_equal(a.first_round[1], ROUNDS);
    assert_int_equal(a.first_round[2], ROUNDS + 5);
    for (int i = 0; i < VARIANTS; i++) expect_rounds(&a.series[i], ROUNDS + 7);
    expect_rounds(&a.reference, ROUNDS + 7);
    expect_rounds(&a.companion[1], ROUNDS + 7);
    assert_int_equal(a.companion[0].n, 0);
    assert_true(a.series[0].check.worst > 0.069);
    assert_true(a.series[1].samples[2 * ROUNDS].time_us > 1.9 && a.series[1].samples[2 * (ROUNDS + 5)].time_us > 6.9);
    assert_int_equal(a.rounds, ROUNDS + 7);
    ridge_job_result_free(&a);
    ridge_job_result_free(&b);
    ridge_job_result_free(&c);
}

/* Wrong once is wrong, in whichever order; the other variant goes on. */
static void wrong_stays_wrong(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        ridge_job_result a = result_of(2, 1, first ? RIDGE_OUTCOME_WRONG : RIDGE_OUTCOME_DONE),
                         b = result_of(2, 1, first ? RIDGE_OUTCOME_DONE : RIDGE_OUTCOME_WRONG);
        assert_int_equal(ridge_job_result_join(&a, &b), RIDGE_OK);
        assert_int_equal(a.series[1].outcome, RIDGE_OUTCOME_WRONG);
        assert_string_equal(a.series[1].reason, "a reason");
        assert_int_equal(a.series[0].outcome, RIDGE_OUTCOME_DONE);
        expect_rounds(&a.series[0], 4);
        ridge_job_result_free(&a);
        ridge_job_result_free(&b);
    }
}

/* One for which there was no time adds nothing; one that was passed over at first is replaced. */
static void skipped_ones_add_nothing(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        ridge_job_result none = result_of(0, 0, RIDGE_OUTCOME_SKIPPED), some = result_of(2, 1, RIDGE_OUTCOME_DONE);
        ridge_job_result *a = first ? &none : &some, *b = first ? &some : &none;
        none.series[0].outcome = RIDGE_OUTCOME_SKIPPED;
        assert_int_equal(ridge_job_result_join(a, b), RIDGE_OK);
        expect_rounds(&a->series[0], 2);
        expect_rounds(&a->series[1], 2);
        assert_int_equal(a->n_measurements, 0);
        ridge_job_result_free(&none);
        ridge_job_result_free(&some);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_go_on),
        cmocka_unit_test(wrong_stays_wrong),
        cmocka_unit_test(skipped_ones_add_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
