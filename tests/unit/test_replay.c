/* Replay: a saved run comes back as it was, and no value of it can be changed unnoticed, or with a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"
#include "record/chain.h"
#include "record/json.h"
#include "record/judge.h"
#include "record/replay.h"
#include "record/saved.h"
#include "sanitized.h"

enum { ROUNDS = 12 };

static ridge_series series_around(double us, uint64_t seed) {
    ridge_series series = {.n = 2 * ROUNDS, .check = {.ok = true, .worst = 0.25, .rows_checked = 4, .rows = 4}};
    series.samples = calloc(2 * ROUNDS, sizeof *series.samples);
    assert_non_null(series.samples);
    for (int i = 0; i < series.n; i++)
        series.samples[i] = (ridge_sample){.round = i / 2,
                                           .visit = i % 2,
                                           .time_us = us * (1 + 0.01 * ridge_random_unit(seed, (uint64_t)i)),
                                           .seed = UINT64_MAX - (uint64_t)i,
                                           .worst = 0.25,
                                           .rows_checked = 4};
    return series;
}

static void add_result(ridge_run *run, const ridge_target *target, int variant, double us, ridge_job_result *job) {
    ridge_result *r = &run->results[run->n_results++];
    *r = (ridge_result){.target = target,
                        .c = {.dim = {16384, 1024}, .dtype = RIDGE_F32},
                        .variant = &target->variants[variant],
                        .isa = run->machine.isa};
    for (int i = 0; i < RIDGE_MAX_OPTIONS && target->options[i].name; i++) r->c.option[i] = target->options[i].fallback;
    r->here = ridge_machine_abilities(&run->machine, r->isa);
    r->here.threads = run->settings.threads;
    ridge_series series = series_around(us, (uint64_t)variant), companion = series_around(us / 2, 9);
    ridge_result_judge(r, &series, &companion, job, &run->ceilings, false);
}

/* Two results of a target that this build has, with a pair, a finding and a plan. */
static json_t *saved(void) {
    const ridge_target *target = ridge_target_find("fused_l2norm");
    ridge_run run = {.date = "2026-11-25T10:00:00Z", .machine = fixture_machine(), .ceilings = fixture_ceilings()};
    run.settings = (ridge_settings){.threads = 2, .seed = 7, .max_time = 2, .noise = 0.003, .repeat = 1, .argc = 3};
    run.settings.argv = fixture_argv;
    run.results = calloc(2, sizeof *run.results);
    run.pairs = calloc(1, sizeof *run.pairs);
    run.measured = calloc(1, sizeof *run.measured);
    run.budget = (ridge_budget){.n = 1, .cases = calloc(1, sizeof *run.budget.cases)};
    assert_true(target && run.results && run.pairs && run.measured && run.budget.cases);
    const ridge_series reference = series_around(2700, 5);
    run.measured[run.n_measured++] = (ridge_measured){.reference = reference.samples, .n_reference = reference.n};
    ridge_job_result job = {.stop = RIDGE_STOP_TIME, .frame_us = 0.3, .reference = reference};
    add_result(&run, target, 0, 9000, &job);
    add_result(&run, target, 1, 2800, &job);
    const ridge_series compared = {.compared = true, .agreement = {true, 1e-7, 0.75}};
    run.pairs[run.n_pairs++] = (ridge_pair){.a = 0, .b = 1};
    ridge_pair_judge(&run, &run.pairs[0], &compared, &job, run.settings.seed);
    run.budget.cases[0] = (ridge_planned){.target = target,
                                          .c = run.results[0].c,
                                          .forecast = {0.5, 0.125},
                                          .least_rounds = 8,
                                          .max_time = 1.5,
                                          .state = RIDGE_PLAN_STARTED,
                                          .taken_s = 2.25,
                                          .rounds_s = 1.75};
    run.dram_before = run.ceilings.levels[3];
    run.dram_after = fixture_level("DRAM", 0, 44, 40.5, 49);
    run.fp32_before = run.fp32_after = run.ceilings.peaks[2];
    run.wall_s = 12.5;
    json_t *json = ridge_json_run(&run);
    ridge_run_free(&run);
    assert_non_null(json);
    return json;
}

/* As a file holds it: numbers have been text. */
static json_t *through_text(const json_t *json) {
    size_t size = 0;
    char *text = ridge_json_format(json, &size);
    json_t *read = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    assert_non_null(read);
    return read;
}

static ridge_replay replay; /* too large for the stack */

/* Takes the reference. */
static bool is_intact(json_t *file) {
    ridge_error error = {0};
    const ridge_status status = ridge_replay_run(file, &replay, &error);
    const bool intact = status == RIDGE_OK && replay.intact;
    if (status != RIDGE_OK && (!error.text[0] || strchr(error.text, '\n'))) fail_msg("no line says why");
    if (status == RIDGE_OK && !intact && !replay.found[0]) fail_msg("nothing says what was edited");
    ridge_replay_free(&replay);
    return intact;
}

static void a_run_comes_back(void **state) {
    (void)state;
    json_t *json = saved(), *file = through_text(json);
    assert_true(json_equal(json, file)); /* every number has the digits that it needs */
    assert_true(is_intact(json_incref(file)));
    (void)json_object_set_new(file, "gate", json_object()); /* what it was compared with is not a part of it */
    assert_true(is_intact(file));
    json_decref(json);
}

/* Puts each of these in place of a value, and looks whether the whole is still taken for a run as measured. */
static void try_values(const json_t *whole, json_t *holder, const char *key, size_t index, int *tried) {
    json_t *const values[] = {json_null(),      json_true(),        json_integer(-1),
                              json_real(1e300), json_string("odd"), json_integer(INT64_MAX),
                              json_array(),     json_object()};
    json_t *before = json_incref(key ? json_object_get(holder, key) : json_array_get(holder, index));
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        if (!json_equal(values[v], before)) {
            if (key)
                (void)json_object_set(holder, key, values[v]);
            else
                (void)json_array_set(holder, index, values[v]);
            if (is_intact(json_deep_copy(whole))) fail_msg("%s: value %zu was not noticed", key ? key : "an entry", v);
            (*tried)++;
        }
        json_decref(values[v]);
    }
    if (key)
        (void)json_object_set_new(holder, key, before);
    else
        (void)json_array_set_new(holder, index, before);
}

/* Of long lists the first entries say enough. */
static void try_all(const json_t *whole, json_t *json, int *tried) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(json, next, key, value) {
        try_values(whole, json, key, 0, tried);
        try_all(whole, value, tried);
    }
    for (size_t i = 0; i < json_array_size(json) && i < (size_t)repetitions(3); i++) {
        try_values(whole, json, NULL, i, tried);
        try_all(whole, json_array_get(json, i), tried);
    }
}

static void no_value_changes_unnoticed(void **state) {
    (void)state;
    int tried = 0;
    json_t *json = saved(), *file = through_text(json);
    try_all(file, file, &tried);
    assert_true(tried > (UNDER_SANITIZER ? 500 : 2000));
    assert_true(is_intact(file)); /* all are back in their places */
    json_decref(json);
}

/* Who writes the links anew, too, has another head. */
static void links_that_are_forged_have_another_head(void **state) {
    (void)state;
    json_t *json = saved(), *file = through_text(json);
    json_t *sample = json_array_get(json_object_get(json_array_get(json_object_get(file, "results"), 1), "samples"), 4);
    (void)json_array_set_new(sample, 2, json_real(1400));
    (void)json_object_set_new(file, "chain", ridge_chain_of(file));
    assert_int_equal(ridge_chain_broken(file), -1);
    assert_string_not_equal(ridge_chain_head(file), ridge_chain_head(json));
    json_decref(file);
    json_decref(json);
}

/* SHA-256 of the names and values of a run's facts, here all null: another library must have the same links. */
static void links_are_sha_256(void **state) {
    (void)state;
    json_t *nothing = json_object(), *chain = ridge_chain_of(nothing);
    (void)json_object_set_new(nothing, "chain", chain);
    assert_string_equal(ridge_chain_head(nothing), "e9250671db389c5f3fbfa0a4de5fedc3002a4113fcc143c767d2fb0c4abf7096");
    json_decref(nothing);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_comes_back), cmocka_unit_test(no_value_changes_unnoticed),
                                       cmocka_unit_test(links_that_are_forged_have_another_head),
                                       cmocka_unit_test(links_are_sha_256)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
