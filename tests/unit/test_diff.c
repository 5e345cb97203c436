/* Two saved runs: what is compared by speedups, what by times, what is not judged, and what cannot be compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"
#include "record/diff.h"
#include "report/report.h"

static json_t *saved(ridge_run *run) {
    json_t *json = ridge_json_run(run);
    ridge_run_free(run);
    assert_non_null(json);
    return json;
}

static json_t *untouched(void) {
    ridge_run run = fixture_run();
    return saved(&run);
}

static const ridge_diff_line *line_of(const ridge_diff *diff, const char *target, const char *c, const char *variant) {
    for (int i = 0; i < diff->n; i++)
        if (strcmp(diff->line[i].target, target) == 0 && strcmp(diff->line[i].c, c) == 0 &&
            strcmp(diff->line[i].variant, variant) == 0)
            return &diff->line[i];
    fail_msg("no line of %s %s %s", target, c, variant);
    return NULL;
}

static ridge_change change_of(json_t *b, const char *target, const char *c, const char *variant) {
    ridge_diff diff;
    ridge_error error = {0};
    if (ridge_diff_runs(untouched(), b, &diff, &error) != RIDGE_OK) fail_msg("%s", error.text);
    const ridge_change change = line_of(&diff, target, c, variant)->verdict;
    ridge_diff_free(&diff);
    return change;
}

static void a_run_is_like_itself(void **state) {
    (void)state;
    ridge_diff diff;
    ridge_error error = {0};
    assert_int_equal(ridge_diff_runs(untouched(), untouched(), &diff, &error), RIDGE_OK);
    assert_int_equal(diff.n, 10);
    assert_int_equal(diff.only_a + diff.only_b, 0);
    assert_int_equal(diff.count[RIDGE_CHANGE_SAME] + diff.count[RIDGE_CHANGE_TOLD], 10);
    const ridge_diff_line *line = line_of(&diff, "toy_norm", "16384x1024", "cpu/optimized");
    assert_true(line->paired && line->change.median > 0.999 && line->change.median < 1.001);
    assert_true(line->change.low < 1 && line->change.high > 1);
    assert_int_equal(line->verdict, RIDGE_CHANGE_SAME);
    assert_int_equal(line_of(&diff, "toy_norm", "16384x1024", "cpu/baseline")->verdict, RIDGE_CHANGE_TOLD);
    ridge_diff_free(&diff);
}

/* Intervals of ± 1 %: a change of 10 % is outside of both and of the margin, one of 4 % only of the intervals. */
static void optimized_variants_are_judged_by_their_speedups(void **state) {
    static const struct {
        double speedup;
        bool repeated;
        ridge_change change;
    } rows[] = {
        {3.21 / 1.10, false, RIDGE_CHANGE_SLOWER}, {3.21 * 1.10, false, RIDGE_CHANGE_FASTER},
        {3.21 / 1.04, false, RIDGE_CHANGE_SAME},   {3.21 * 1.04, false, RIDGE_CHANGE_SAME},
        {3.21 / 1.04, true, RIDGE_CHANGE_SLOWER},  {3.21 / 1.01, true, RIDGE_CHANGE_SAME},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ridge_diff diff;
        ridge_error error = {0};
        ridge_run runs[] = {fixture_run(), fixture_run()};
        for (int k = 0; k < 2; k++) {
            const double s = k ? rows[i].speedup : 3.21;
            runs[k].pairs[0].speedup = (ridge_interval){s, 0.99 * s, 1.01 * s, 12};
            if (!rows[i].repeated) continue;
            ridge_repeats *r = &runs[k].pairs[0].repeats;
            *r = (ridge_repeats){.n = 3, .between = {s, 0.99 * s, 1.01 * s, 3}};
            for (int m = 0; m < 3; m++) r->each[m] = runs[k].pairs[0].speedup;
        }
        assert_int_equal(ridge_diff_runs(saved(&runs[0]), saved(&runs[1]), &diff, &error), RIDGE_OK);
        const ridge_diff_line *line = line_of(&diff, "toy_norm", "16384x1024", "cpu/optimized");
        if (line->verdict != rows[i].change) fail_msg("row %zu: %s", i, ridge_change_name(line->verdict));
        assert_true(fabs(line->change.median - 3.21 / rows[i].speedup) < 1e-9);
        ridge_diff_free(&diff);
    }
}

/* Baselines are judged where both runs say what lies between processes. */
static void others_are_judged_by_repeated_times(void **state) {
    (void)state;
    ridge_diff diff;
    ridge_error error = {0};
    ridge_run runs[] = {fixture_run(), fixture_run()};
    for (int k = 0; k < 2; k++) {
        const double us = k ? 9500 : 9000;
        runs[k].results[0].repeats =
            (ridge_repeats){.n = 4, .between = {us, 0.99 * us, 1.01 * us, 4}, .each = {{us, us, us, 9}}};
    }
    assert_int_equal(ridge_diff_runs(saved(&runs[0]), saved(&runs[1]), &diff, &error), RIDGE_OK);
    const ridge_diff_line *line = line_of(&diff, "toy_norm", "16384x1024", "cpu/baseline");
    assert_int_equal(line->verdict, RIDGE_CHANGE_SLOWER);
    assert_false(line->paired);
    ridge_diff_free(&diff);
}

static void verdicts_and_work_that_changed(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    run.results[1].verdict = RIDGE_VERDICT_WRONG;
    assert_int_equal(change_of(saved(&run), "toy_norm", "16384x1024", "cpu/optimized"), RIDGE_CHANGE_BROKEN);
    run = fixture_run();
    run.results[3].verdict = RIDGE_VERDICT_OK;
    assert_int_equal(change_of(saved(&run), "toy_norm", "16384x1024/bf16", "cpu/optimized"), RIDGE_CHANGE_MENDED);
    run = fixture_run();
    run.results[1].work.flops *= 2;
    assert_int_equal(change_of(saved(&run), "toy_norm", "16384x1024", "cpu/optimized"), RIDGE_CHANGE_OTHER);
}

static void expect_refused(json_t *b, ridge_status status, const char *why) {
    ridge_diff diff;
    ridge_error error = {0};
    assert_int_equal(ridge_diff_runs(untouched(), b, &diff, &error), status);
    if (!strstr(error.text, why)) fail_msg("'%s' does not say '%s'", error.text, why);
    ridge_diff_free(&diff);
}

static void what_cannot_be_compared(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    (void)snprintf(run.machine.key, sizeof run.machine.key, "another-1-2c");
    expect_refused(saved(&run), RIDGE_INVALID, "different machines");
    run = fixture_run();
    run.settings.threads = 1;
    expect_refused(saved(&run), RIDGE_INVALID, "no result in common");
    expect_refused(json_object(), RIDGE_CORRUPT, "second file is no run");
    expect_refused(json_integer(7), RIDGE_CORRUPT, "second file is no run");
    expect_refused(json_pack("{s:s, s:[], s:i}", "schema", "ridge-run/2", "results", "pairs", 1), RIDGE_CORRUPT,
                   "no run");
    /* Results of a stranger's making: nothing is read that is not there. */
    expect_refused(json_pack("{s:s, s:[i, n, {}], s:[], s:{s:s}}", "schema", "ridge-run/2", "results", 1, "pairs",
                             "machine", "key", "invented-1-2c"),
                   RIDGE_INVALID, "no result in common");
}

static void json_and_text_count(void **state) {
    (void)state;
    static char text[8192];
    ridge_diff diff;
    ridge_error error = {0};
    ridge_run run = fixture_run();
    run.pairs[0].speedup = (ridge_interval){2, 1.99, 2.01, 12};
    assert_int_equal(ridge_diff_runs(untouched(), saved(&run), &diff, &error), RIDGE_OK);
    FILE *stream = fmemopen(text, sizeof text, "w");
    const ridge_page page = {.tables = stream, .prose = stream, .width = 100, .height = 24};
    ridge_report_diff(&diff, &page);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "Of 10 results in both runs: 0 faster"));
    assert_non_null(strstr(text, "1 slower"));
    assert_non_null(strstr(text, "toy_norm on cpu"));
    assert_non_null(strstr(text, "1.60×"));
    json_t *json = ridge_json_diff(&diff);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "counts"), "slower")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "results")), 10);
    json_decref(json);
    ridge_diff_free(&diff);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_like_itself),
        cmocka_unit_test(optimized_variants_are_judged_by_their_speedups),
        cmocka_unit_test(others_are_judged_by_repeated_times),
        cmocka_unit_test(verdicts_and_work_that_changed),
        cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(json_and_text_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
