/* The gate and its expectations: what passes, what is slower, what is not known, what cannot be compared, and small steps
 * that add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"
#include "record/expect.h"
#include "record/gate.h"
#include "record/saved.h"

/* A run whose first pair has the speedup, known within ± width. */
static ridge_run run_with(double speedup, double width) {
    ridge_run run = fixture_run();
    run.pairs[0].speedup = (ridge_interval){speedup, (1 - width) * speedup, (1 + width) * speedup, 40};
    for (int i = 0; i < run.n_results; i++) /* the fixture has one of each verdict: here nothing is wrong */
        if (ridge_verdict_is_error(run.results[i].verdict)) run.results[i].verdict = RIDGE_VERDICT_SKIPPED;
    return run;
}

static json_t *accept(const json_t *old, double speedup, const char *reason) {
    ridge_run run = run_with(speedup, 0.01);
    ridge_error error = {0};
    json_t *updated = NULL;
    if (ridge_expect_update(old, &run, reason, &updated, &error) != RIDGE_OK) fail_msg("%s", error.text);
    ridge_run_free(&run);
    return updated;
}

static ridge_gate check(const json_t *expectations, ridge_run *run) {
    ridge_gate gate;
    ridge_error error = {0};
    if (ridge_gate_check(expectations, run, &gate, &error) != RIDGE_OK) fail_msg("%s", error.text);
    return gate;
}

static const ridge_gate_line *line_of(const ridge_gate *gate, const ridge_run *run, int result) {
    char name[RIDGE_CASE_NAME];
    const ridge_result *r = &run->results[result];
    ridge_case_name(r->target, &r->c, name, sizeof name);
    for (int i = 0; i < gate->n; i++) {
        const ridge_diff_line *now = gate->line[i].now;
        if (strcmp(now->target, r->target->name) == 0 && strcmp(now->c, name) == 0 &&
            strcmp(now->variant, r->variant->name) == 0)
            return &gate->line[i];
    }
    fail_msg("no line of result %d", result);
    return NULL;
}

static void a_change_has_its_verdict(void **state) {
    static const struct {
        double speedup, width;
        ridge_gate_verdict verdict;
    } rows[] = {
        {2.0, 0.01, RIDGE_GATE_PASSED},        {2.0 * 1.2, 0.01, RIDGE_GATE_PASSED},
        {2.0 / 1.02, 0.01, RIDGE_GATE_PASSED}, {2.0 / 1.10, 0.01, RIDGE_GATE_REGRESSION},
        {2.0, 0.20, RIDGE_GATE_INCONCLUSIVE},  {2.0 / 1.10, 0.12, RIDGE_GATE_INCONCLUSIVE},
    };
    (void)state;
    json_t *expectations = accept(NULL, 2.0, "first");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ridge_run run = run_with(rows[i].speedup, rows[i].width);
        ridge_gate gate = check(expectations, &run);
        const ridge_gate_line *line = line_of(&gate, &run, run.pairs[0].b);
        if (line->verdict != rows[i].verdict)
            fail_msg("row %zu: %s, want %s", i, ridge_gate_name(line->verdict), ridge_gate_name(rows[i].verdict));
        assert_int_equal(line->reason[0] != '\0', rows[i].verdict != RIDGE_GATE_PASSED);
        assert_true(gate.verdict >= rows[i].verdict);
        /* ± 1 % against ± 1 %, and the margin: about 5 % is seen. */
        if (rows[i].width < 0.02) assert_true(line->detectable > 0.045 && line->detectable < 0.055);
        ridge_gate_free(&gate);
        ridge_run_free(&run);
    }
    json_decref(expectations);
}

/* Each step is within the margin and is accepted. The best stays, so the sum of the steps is seen. */
static void ten_small_steps_trip(void **state) {
    (void)state;
    double speedup = 2.0;
    int tripped_at = 0;
    json_t *expectations = accept(NULL, speedup, "first");
    for (int step = 1; step <= 10; step++) {
        speedup *= 0.97;
        ridge_run run = run_with(speedup, 0.002);
        ridge_gate gate = check(expectations, &run);
        const ridge_gate_line *line = line_of(&gate, &run, run.pairs[0].b);
        assert_int_not_equal(line->now->verdict, RIDGE_CHANGE_SLOWER); /* this step alone says nothing */
        if (line->verdict == RIDGE_GATE_REGRESSION && !tripped_at) {
            tripped_at = step;
            assert_non_null(strstr(line->reason, "best"));
        }
        assert_true(!tripped_at || line->verdict == RIDGE_GATE_REGRESSION);
        ridge_gate_free(&gate);
        ridge_run_free(&run);
        json_t *next = accept(expectations, speedup, "a step");
        json_decref(expectations);
        expectations = next;
    }
    assert_int_equal(tripped_at, 4); /* 1 / 0.97^4 = 1.13, of which ± 1 % is not known */
    assert_int_equal(json_array_size(json_object_get(expectations, "log")), 11);
    json_decref(expectations);
}

/* What is proven faster becomes the best, and from then on counts. */
static void the_best_follows_what_is_faster(void **state) {
    (void)state;
    json_t *first = accept(NULL, 2.0, "first"), *faster = accept(first, 2.4, "faster"),
           *back = accept(faster, 2.0, "back");
    ridge_run run = run_with(2.0, 0.01);
    ridge_gate gate = check(back, &run);
    const ridge_gate_line *line = line_of(&gate, &run, run.pairs[0].b);
    assert_int_equal(line->verdict, RIDGE_GATE_REGRESSION);
    assert_true(line->since_best.median > 1.19 && line->since_best.median < 1.21);
    ridge_gate_free(&gate);
    ridge_run_free(&run);
    json_decref(first);
    json_decref(faster);
    json_decref(back);
}

static void what_cannot_be_compared_is_invalid(void **state) {
    (void)state;
    json_t *expectations = accept(NULL, 2.0, "first");
    const ridge_run known = run_with(2.0, 0.01);
    const int optimized = known.pairs[0].b;
    for (int kind = 0; kind < 3; kind++) {
        ridge_run run = run_with(2.0, 0.01);
        ridge_result *r = &run.results[optimized];
        if (kind == 0) r->work.flops *= 1.01;
        if (kind == 1) r->verdict = RIDGE_VERDICT_WRONG;
        if (kind == 2) r->verdict = RIDGE_VERDICT_SKIPPED;
        ridge_gate gate = check(expectations, &run);
        const ridge_gate_verdict want = kind < 2 ? RIDGE_GATE_INVALID : RIDGE_GATE_INCONCLUSIVE;
        assert_int_equal(line_of(&gate, &run, optimized)->verdict, want);
        assert_int_equal(gate.verdict, want);
        ridge_gate_free(&gate);
        ridge_run_free(&run);
    }
    ridge_run other = run_with(2.0, 0.01);
    (void)snprintf(other.machine.key, sizeof other.machine.key, "another-1-2c");
    ridge_gate gate;
    ridge_error error = {0};
    assert_int_equal(ridge_gate_check(expectations, &other, &gate, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "another-1-2c"));
    ridge_gate_free(&gate);
    ridge_run_free(&other);
    ridge_run copy = known;
    ridge_run_free(&copy);
    json_decref(expectations);
}

/* A wrong result counts even where nothing is expected of it, and nothing is ever expected of a wrong run. */
static void errors_are_never_accepted(void **state) {
    (void)state;
    json_t *expectations = accept(NULL, 2.0, "first"), *updated = NULL;
    ridge_run run = run_with(2.0, 0.01);
    run.results[run.n_results - 1].verdict = RIDGE_VERDICT_WRONG;
    ridge_gate gate = check(expectations, &run);
    ridge_error error = {0};
    assert_int_equal(gate.verdict, RIDGE_GATE_INVALID);
    assert_int_equal(ridge_expect_update(expectations, &run, "no", &updated, &error), RIDGE_INVALID);
    assert_null(updated);
    ridge_gate_free(&gate);
    ridge_run_free(&run);
    json_decref(expectations);
}

/* Short enough for a repository: no raw samples, only what has a time; an update replaces, and keeps the rest. */
static void expectations_are_the_run_in_short(void **state) {
    (void)state;
    json_t *first = accept(NULL, 2.0, "first"), *second = accept(first, 2.1, "second");
    size_t i;
    const json_t *result;
    json_array_foreach(json_object_get(first, "results"), i, result) {
        assert_null(json_object_get(result, "samples"));
        assert_true(ridge_saved_interval(json_object_get(result, "time_us")).n > 0);
    }
    assert_int_equal(i, json_array_size(json_object_get(second, "results")));
    const json_t *log = json_object_get(second, "log");
    assert_string_equal(ridge_saved_text(json_array_get(log, 1), "reason"), "second");
    assert_int_equal((int)ridge_saved_number(json_array_get(log, 0), "added"), (int)i);
    assert_int_equal((int)ridge_saved_number(json_array_get(log, 1), "updated"), (int)i);
    json_decref(first);
    json_decref(second);
}

static void other_files_are_refused(void **state) {
    static const char *const texts[] = {
        "{}", "[]", "{\"schema\": \"ridge-expectations/1\"}", "{\"schema\": \"ridge-expectations/2\", \"key\": \"k\"}",
        "{\"schema\": \"ridge-expectations/2\", \"key\": \"k\", \"results\": [], \"pairs\": [], \"log\": {}}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ridge_error error = {0};
        json_t *json = json_loads(texts[i], 0, NULL);
        assert_non_null(json);
        assert_int_equal(ridge_expect_check(json, "k", &error), RIDGE_CORRUPT);
        json_decref(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_has_its_verdict),        cmocka_unit_test(ten_small_steps_trip),
        cmocka_unit_test(the_best_follows_what_is_faster), cmocka_unit_test(what_cannot_be_compared_is_invalid),
        cmocka_unit_test(errors_are_never_accepted),       cmocka_unit_test(expectations_are_the_run_in_short),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
