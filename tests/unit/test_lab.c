/* A run through the library alone: plan, ceilings, jobs and verdicts, and what a program is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lab/lab.h"
#include "machine/survey/survey.h"
#include "ridge/bench.h"

enum { ROWS = 97, COLS = 256, ROUNDS = 9, GOOD = 0, OPTIMIZED = 1, BROKEN = 2, VARIANTS = 3 };

/* A target of this test alone: y = 2 x. */
static ridge_status doubled(const ridge_call *call) {
    const float *x = ridge_data(&call->in[0]);
    float *y = ridge_data(&call->out[0]);
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) y[i] = 2 * x[i];
    return RIDGE_OK;
}
static ridge_status tripled_once(const ridge_call *call) {
    RIDGE_TRY(doubled(call));
    ((float *)ridge_data(&call->out[0]))[call->dim[1] + 3] *= 1.5f;
    return RIDGE_OK;
}

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = elements(c), .bytes_read = 4 * elements(c), .bytes_written = 4 * elements(c)};
}
static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) call->out[0][i] = 2 * call->in[0][i];
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    b->relative = 0x1p-24;
}

static const ridge_case cases[] = {{.dim = {ROWS, COLS}, .dtype = RIDGE_F32}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};
static const ridge_variant variants[VARIANTS] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "a loop", .run = RIDGE_ANY_ISA(doubled)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "the same loop", .run = RIDGE_ANY_ISA(doubled)},
    {.name = "cpu/broken", .role = RIDGE_PEER, .idea = "one wrong element", .run = RIDGE_ANY_ISA(tripled_once)},
};
static const ridge_target target = {.name = "doubling",
                                    .chapter = "ch00",
                                    .summary = "y = 2 x",
                                    .dims = {"rows", "cols"},
                                    .cases = RIDGE_LIST(cases),
                                    .in = RIDGE_LIST(in),
                                    .out = RIDGE_LIST(out),
                                    .variants = RIDGE_LIST(variants),
                                    .exact = 8,
                                    .work = work,
                                    .oracle = oracle,
                                    .bound = bound};

static const ridge_lab_item item = {.target = &target,
                                    .c = {.dim = {ROWS, COLS}, .dtype = RIDGE_F32},
                                    .backend = RIDGE_BACKEND_cpu,
                                    .variants = {GOOD, OPTIMIZED, BROKEN},
                                    .n_variants = VARIANTS};

static ridge_machine machine;
static ridge_run run;
static char cache[] = "/tmp/ridge-lab-XXXXXX";

/* hot: one set of operands, so that the test does not fill caches. */
static ridge_lab_plan plan_of(const ridge_lab_item *items, int n) {
    return (ridge_lab_plan){.items = items,
                            .n_items = n,
                            .machine = &machine,
                            .threads = 1,
                            .hot = true,
                            .seed = 7,
                            .launch_limit = 20,
                            .iterations = ROUNDS};
}

/* Where no rate is looked at: probes move memory for more than a second a run. */
static ridge_lab_plan plan_without_probes(const ridge_lab_item *items, int n) {
    ridge_lab_plan plan = plan_of(items, n);
    plan.no_ceilings = true;
    return plan;
}

/* ---- what a program is told -------------------------------------------------------------------------------------- */

enum { STAGES = RIDGE_LAB_NOTE + 1 };
typedef struct heard {
    int times[STAGES], total;
    ridge_lab_stage last;
    char what[160];
    double share;
    volatile sig_atomic_t interrupted;
    bool interrupts; /* at the start of the second case */
} heard;

static void hear(void *arg, const ridge_lab_event *event) {
    heard *h = arg;
    h->times[event->stage]++;
    h->last = event->stage;
    if (event->stage == RIDGE_LAB_CASES) h->total = event->total;
    if (event->stage == RIDGE_LAB_SHARE) h->share = event->share;
    if (event->stage == RIDGE_LAB_CASE || event->stage == RIDGE_LAB_NOTE)
        (void)snprintf(h->what, sizeof h->what, "%s", event->what);
    if (h->interrupts && h->times[RIDGE_LAB_CASE] == 2) h->interrupted = 1;
}

static ridge_lab_watch watch_of(heard *h) {
    return (ridge_lab_watch){.tell = hear, .arg = h, .interrupted = &h->interrupted};
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void check_samples(const ridge_result *r) {
    assert_int_equal(r->n_samples, 2 * ROUNDS);
    assert_int_equal(r->stop, RIDGE_STOP_ITERATIONS);
    for (int i = 0; i < r->n_samples; i++) {
        assert_true(r->samples[i].time_us > 0);
        assert_true(r->samples[i].rows_checked > 0);
        assert_true(r->samples[i].worst <= 1);
        if (i > 0) assert_true(r->samples[i].seed != r->samples[i - 1].seed);
    }
    assert_true(r->time_us.median > 0 && r->time_us.low <= r->time_us.high);
    assert_true(r->check.ok && r->check.rows_checked == ROWS);
    assert_int_equal((int)r->work.flops, ROWS * COLS);
}

static void a_plan_becomes_a_record(void **state) {
    const ridge_lab_plan plan = plan_of(&item, 1);
    heard h = {.times = {0}};
    const ridge_lab_watch watch = watch_of(&h);
    ridge_error error = {0};
    (void)state;
    if (ridge_lab_run(&plan, &watch, &run, &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(run.n_results, VARIANTS);
    for (int i = 0; i < VARIANTS; i++) {
        assert_ptr_equal(run.results[i].target, &target);
        assert_ptr_equal(run.results[i].variant, &variants[i]);
    }
    check_samples(&run.results[GOOD]);
    check_samples(&run.results[OPTIMIZED]);
    assert_int_equal(run.results[BROKEN].verdict, RIDGE_VERDICT_WRONG);
    assert_non_null(strstr(run.results[BROKEN].reason, "y[1,3]"));
    assert_int_equal(run.n_pairs, 2);
    assert_true(run.pairs[0].a == GOOD && run.pairs[0].b == OPTIMIZED);
    assert_true(run.pairs[0].compared && run.pairs[0].agree && run.pairs[0].speedup.n > 0);
    assert_int_equal(run.pairs[1].speedup.n, 0); /* with the broken one */
    assert_true(run.dram_before.read.n > 0 && run.dram_after.read.n > 0);
    assert_true(run.settings.threads == 1 && run.settings.iterations == ROUNDS && run.settings.seed == 7);
    assert_true(!run.interrupted && run.wall_s > 0 && run.date[0]);
    assert_true(h.times[RIDGE_LAB_CASES] == 1 && h.total == 1 && h.times[RIDGE_LAB_CASE] == 1);
    assert_string_equal(h.what, "ch00:doubling 97x256");
    assert_true(h.share > 0 && h.last == RIDGE_LAB_END);
    assert_true(h.times[RIDGE_LAB_CEILINGS] == 0); /* from the cache file */
    json_t *json = ridge_json_run(&run);
    assert_non_null(json);
    assert_int_equal(json_array_size(json_object_get(json, "results")), VARIANTS);
    json_decref(json);
    ridge_run_free(&run);
}

/* A probe that is faster than the cached ceilings replaces them: percentages never refer to a rate that was beaten. */
static void probes_raise_the_ceilings(void **state) {
    const ridge_lab_plan plan = plan_of(&item, 1);
    ridge_error error = {0};
    (void)state;
    if (ridge_lab_run(&plan, NULL, &run, &error) != RIDGE_OK) fail_msg("%s", error.text);
    const ridge_level *dram = ridge_ceilings_dram(&run.ceilings);
    assert_true(dram->read.median >= fmax(run.dram_before.read.median, run.dram_after.read.median));
    assert_true(dram->copy.median >= fmax(run.dram_before.copy.median, run.dram_after.copy.median));
    ridge_run_free(&run);
}

static void an_interruption_keeps_what_is_finished(void **state) {
    const ridge_lab_item items[] = {item, item, item};
    const ridge_lab_plan plan = plan_without_probes(items, 3);
    heard h = {.interrupts = true};
    const ridge_lab_watch watch = watch_of(&h);
    ridge_error error = {0};
    (void)state;
    assert_int_equal(ridge_lab_run(&plan, &watch, &run, &error), RIDGE_INTERRUPTED);
    assert_non_null(strstr(error.text, "1 of 3"));
    assert_true(run.interrupted);
    assert_int_equal(run.n_results, VARIANTS);
    check_samples(&run.results[OPTIMIZED]);
    assert_int_equal(h.last, RIDGE_LAB_END);
    ridge_run_free(&run);
}

/* ---- several measurements ---------------------------------------------------------------------------------------- */

static void check_repeats(const ridge_result *r, int measurements) {
    assert_int_equal(r->n_samples, 2 * ROUNDS * measurements);
    assert_int_equal(r->repeats.n, measurements);
    assert_int_equal(r->repeats.between.n, measurements);
    for (int i = 0; i < r->n_samples; i++) assert_int_equal(r->samples[i].round, i / 2);
    double low = HUGE_VAL, high = 0;
    for (int k = 0; k < measurements; k++) {
        double times[2 * ROUNDS];
        for (int i = 0; i < 2 * ROUNDS; i++) times[i] = r->samples[2 * ROUNDS * k + i].time_us;
        const ridge_interval *each = &r->repeats.each[k];
        assert_int_equal(each->n, 2 * ROUNDS);
        qsort(times, 2 * ROUNDS, sizeof times[0], ascending);
        assert_true(each->median >= times[ROUNDS - 1] && each->median <= times[ROUNDS]);
        low = fmin(low, each->median);
        high = fmax(high, each->median);
    }
    assert_true(r->repeats.between.median >= low && r->repeats.between.median <= high);
    assert_true(fabs(ridge_repeats_spread(&r->repeats) - 0.5 * (high - low) / r->repeats.between.median) < 1e-12);
}

static void measurements_are_repeated_and_joined(void **state) {
    enum { MEASUREMENTS = 3 };
    const ridge_lab_item items[] = {item, item};
    ridge_lab_plan plan = plan_of(items, 2);
    heard h = {.times = {0}};
    const ridge_lab_watch watch = watch_of(&h);
    ridge_error error = {0};
    (void)state;
    plan.repeat = MEASUREMENTS;
    if (ridge_lab_run(&plan, &watch, &run, &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(h.total, 2 * MEASUREMENTS);
    assert_int_equal(run.n_results, 2 * VARIANTS);
    assert_int_equal(run.settings.repeat, MEASUREMENTS);
    for (int i = 0; i < run.budget.n; i++) assert_int_equal(run.budget.cases[i].measurement, i / 2);
    for (int first = 0; first <= VARIANTS; first += VARIANTS) {
        check_repeats(&run.results[first + GOOD], MEASUREMENTS);
        check_repeats(&run.results[first + OPTIMIZED], MEASUREMENTS);
        assert_int_equal(run.results[first + BROKEN].verdict, RIDGE_VERDICT_WRONG);
    }
    assert_int_equal(run.pairs[0].repeats.n, MEASUREMENTS);
    assert_int_equal(run.pairs[0].repeats.each[2].n, ROUNDS);
    assert_int_equal(run.pairs[0].speedup.n, MEASUREMENTS * ROUNDS);
    json_t *json = ridge_json_result(&run.results[GOOD]), *repeats = json_object_get(json, "repeats");
    if (ridge_verdict_timed(run.results[GOOD].verdict)) /* else the ceilings of this machine's file are too low */
        assert_int_equal(json_array_size(json_object_get(repeats, "each")), MEASUREMENTS);
    else
        assert_true(json_is_null(repeats));
    json_decref(json);
    ridge_run_free(&run);
}

/* Interrupted in the second of five measurements. */
static void an_interruption_keeps_the_first_measurements(void **state) {
    const ridge_lab_item items[] = {item};
    ridge_lab_plan plan = plan_without_probes(items, 1);
    heard h = {.interrupts = true};
    const ridge_lab_watch watch = watch_of(&h);
    ridge_error error = {0};
    (void)state;
    plan.repeat = 5;
    assert_int_equal(ridge_lab_run(&plan, &watch, &run, &error), RIDGE_INTERRUPTED);
    assert_non_null(strstr(error.text, "1 of 5"));
    assert_int_equal(run.n_results, VARIANTS);
    check_samples(&run.results[OPTIMIZED]);
    assert_int_equal(run.results[OPTIMIZED].repeats.n, 0);
    ridge_run_free(&run);
}

/* ---- around the cases -------------------------------------------------------------------------------------------- */

typedef struct called {
    int before, after, fails_before, fails_after; /* number of the call that fails; 0: none */
} called;

static ridge_status call_before(void *arg, const ridge_lab_item *of, ridge_error *error) {
    called *c = arg;
    assert_ptr_equal(of->target, &target);
    return ++c->before == c->fails_before ? ridge_fail(error, RIDGE_FAILED, "no before") : RIDGE_OK;
}

static ridge_status call_after(void *arg, const ridge_lab_item *of, ridge_error *error) {
    called *c = arg;
    assert_ptr_equal(of->target, &target);
    return ++c->after == c->fails_after ? ridge_fail(error, RIDGE_FAILED, "no after") : RIDGE_OK;
}

static void hooks_are_called_and_may_end_the_run(void **state) {
    static const struct {
        called plan;
        int before, after, cases;
        bool interrupts;
        ridge_status status;
    } rows[] = {
        {{0}, 3, 3, 3, false, RIDGE_OK},
        {{.fails_before = 1}, 1, 0, 0, false, RIDGE_FAILED},
        {{.fails_before = 2}, 2, 1, 1, false, RIDGE_FAILED},
        {{.fails_after = 2}, 2, 2, 2, false, RIDGE_FAILED},
        {{0}, 2, 2, 1, true, RIDGE_INTERRUPTED},
        {{.fails_after = 2}, 2, 2, 1, true, RIDGE_INTERRUPTED},
    };
    const ridge_lab_item items[] = {item, item, item};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        called c = rows[i].plan;
        heard h = {.interrupts = rows[i].interrupts};
        const ridge_lab_watch watch = watch_of(&h);
        ridge_lab_plan plan = plan_without_probes(items, 3);
        plan.hooks = (ridge_lab_hooks){.before = call_before, .after = call_after, .arg = &c};
        ridge_error error = {0};
        assert_int_equal(ridge_lab_run(&plan, &watch, &run, &error), rows[i].status);
        if (rows[i].status == RIDGE_FAILED) assert_string_equal(error.text, c.fails_before ? "no before" : "no after");
        assert_int_equal(run.interrupted, rows[i].status != RIDGE_OK);
        assert_int_equal(c.before, rows[i].before);
        assert_int_equal(c.after, rows[i].after);
        assert_int_equal(run.n_results, VARIANTS * rows[i].cases);
        ridge_run_free(&run);
    }
}

/* Right at first and in the end: launches 5 to 12 of a process are of the warm-up. Every row is wrong, since a launch is
 * judged by drawn rows. */
static ridge_status wrong_for_a_while(const ridge_call *call) {
    static int launches;
    RIDGE_TRY(doubled(call));
    if (++launches < 5 || launches > 12) return RIDGE_OK;
    for (int64_t row = 0; row < call->dim[0]; row++) ((float *)ridge_data(&call->out[0]))[row * call->dim[1]] += 1;
    return RIDGE_OK;
}

static void warming_up_verifies_and_keeps_no_sample(void **state) {
    static const ridge_variant pair[] = {
        {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "a loop", .run = RIDGE_ANY_ISA(doubled)},
        {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "lies", .run = RIDGE_ANY_ISA(wrong_for_a_while)}};
    ridge_target lying = target;
    lying.variants = pair;
    lying.n_variants = 2;
    const ridge_lab_item one = {.target = &lying, .c = item.c, .variants = {0, 1}, .n_variants = 2};
    ridge_lab_plan plan = plan_without_probes(&one, 1);
    ridge_error error = {0};
    (void)state;
    plan.warmup = 6;
    if (ridge_lab_run(&plan, NULL, &run, &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(run.settings.warmup, 6);
    check_samples(&run.results[0]);
    assert_int_equal(run.results[1].verdict, RIDGE_VERDICT_WRONG);
    assert_int_equal(run.results[1].n_samples, 0);
    assert_non_null(strstr(run.results[1].reason, "warm-up, round"));
    ridge_run_free(&run);
}

static double forecast(const ridge_lab_plan *plan) {
    ridge_error error = {0};
    double seconds;
    if (ridge_lab_forecast(plan, &run, &seconds, &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(run.budget.n, plan->n_items);
    assert_int_equal(run.n_results, 0);
    return seconds;
}

static void a_forecast_tells_what_fits(void **state) {
    ridge_lab_item large = item;
    large.c.dim[0] = 1 << 16;
    const ridge_lab_item items[] = {large, item};
    ridge_lab_plan small = plan_of(&item, 1), both = plan_of(items, 2);
    (void)state;
    const double least = forecast(&small);
    ridge_run_free(&run);
    const double all = forecast(&both);
    assert_true(least > 0 && all > least);
    assert_int_equal(run.budget.cases[0].state, RIDGE_PLAN_STARTED);
    ridge_run_free(&run);
    both.within = (least + all) / 2;
    assert_true(forecast(&both) <= both.within);
    assert_int_equal(run.budget.cases[0].state, RIDGE_PLAN_PASSED_OVER);
    assert_int_equal(run.budget.cases[1].state, RIDGE_PLAN_STARTED);
    ridge_run_free(&run);
}

static void bad_plans_are_refused(void **state) {
    ridge_error error = {0};
    ridge_lab_plan plan = plan_of(&item, 1);
    (void)state;
    plan.threads = machine.threads + 1;
    assert_int_equal(ridge_lab_run(&plan, NULL, &run, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "threads"));
    ridge_run_free(&run);
    ridge_lab_item huge = item;
    huge.c.dim[0] = INT64_C(1) << 40;
    plan = plan_of(&huge, 1);
    assert_int_equal(ridge_lab_run(&plan, NULL, &run, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "doubling"));
    ridge_run_free(&run);
}

static void a_summary_has_work_and_no_times(void **state) {
    const ridge_lab_plan plan = plan_of(&item, 1);
    ridge_error error = {0};
    (void)state;
    if (ridge_lab_summarize(&plan, NULL, &run, &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(run.n_results, 1);
    assert_int_equal(run.results[0].verdict, RIDGE_VERDICT_SKIPPED);
    assert_int_equal((int)run.results[0].work.flops, ROWS * COLS);
    assert_true(run.results[0].place.floor_us > 0 && run.results[0].n_samples == 0);
    ridge_run_free(&run);
}

static void ceilings_come_from_the_file(void **state) {
    static ridge_ceilings c;
    heard h = {.times = {0}};
    const ridge_lab_watch watch = watch_of(&h);
    const ridge_lab_effort effort = {.refresh = false};
    ridge_error error = {0};
    (void)state;
    assert_int_equal(ridge_lab_ceilings(&machine, 1, &effort, &watch, &c, &error), RIDGE_OK);
    assert_true(h.times[RIDGE_LAB_CEILINGS] == 0 && c.n_levels == 1 && c.n_peaks == 1);
    ridge_machine without = machine;
    without.gpu.sm = 0;
    assert_int_equal(ridge_lab_gpu_ceilings(&without, &effort, &watch, &c, &error), RIDGE_UNSUPPORTED);
    assert_int_equal(c.n_levels, 0);
}

/* ---- by the public header ---------------------------------------------------------------------------------------- */

static ridge_bench *open_bench(const ridge_bench_settings *more) {
    ridge_bench_settings settings = more ? *more : (ridge_bench_settings){.arg = NULL};
    ridge_bench *bench = NULL;
    ridge_error error = {0};
    settings.threads = 1, settings.hot = true, settings.seed = 7, settings.iterations = ROUNDS;
    if (ridge_bench_open(RIDGE_BACKEND_cpu, &settings, &bench, &error) != RIDGE_OK) fail_msg("%s", error.text);
    return bench;
}

static void a_bench_measures_a_programs_own_target(void **state) {
    ridge_bench *bench = open_bench(NULL);
    ridge_error error = {0};
    int n, n_pairs;
    (void)state;
    if (ridge_bench_run(bench, &target, &cases[0], NULL, 0, &error) != RIDGE_OK) fail_msg("%s", error.text);
    const ridge_bench_result *results = ridge_bench_results(bench, &n);
    const ridge_bench_pair *pairs = ridge_bench_pairs(bench, &n_pairs);
    assert_true(n == VARIANTS && n_pairs == 2);
    for (int i = 0; i < VARIANTS; i++) {
        const ridge_bench_result *r = &results[i];
        assert_string_equal(r->variant, variants[i].name);
        assert_true(r->role == variants[i].role && r->way == NULL);
        assert_true((int)r->work.flops == ROWS * COLS);
        assert_int_equal(r->place.floor_us > 0,
                         ridge_verdict_timed(r->verdict) || r->verdict == RIDGE_VERDICT_IMPOSSIBLE);
        assert_int_equal(r->time_us.n > 0, ridge_verdict_timed(r->verdict));
        assert_int_equal(r->place.gbps > 0, ridge_verdict_timed(r->verdict));
    }
    assert_true(results[GOOD].verdict != RIDGE_VERDICT_WRONG && results[GOOD].worst <= 1);
    assert_int_equal(results[BROKEN].verdict, RIDGE_VERDICT_WRONG);
    assert_true(strstr(results[BROKEN].reason, "y[1,3]") && results[BROKEN].worst > 1);
    assert_true(pairs[0].reference == GOOD && pairs[0].optimized == OPTIMIZED && pairs[0].agree);
    assert_true(pairs[1].reference == BROKEN && pairs[1].speedup.n == 0 && !pairs[1].agree);
    ridge_bench_close(bench);
}

/* The record on disk has what the structs have. */
static void check_record(const ridge_bench *bench, const ridge_bench_result *results, int n) {
    char path[64];
    ridge_error error = {0};
    (void)snprintf(path, sizeof path, "%s/run.json", cache);
    if (ridge_bench_write(bench, path, &error) != RIDGE_OK) fail_msg("%s", error.text);
    json_t *record = json_load_file(path, 0, NULL), *written = json_object_get(record, "results");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(json_array_size(written), n);
    for (int i = 0; i < n; i++) {
        json_t *r = json_array_get(written, (size_t)i);
        assert_string_equal(json_string_value(json_object_get(r, "variant")), results[i].variant);
        assert_string_equal(json_string_value(json_object_get(r, "way")), results[i].way);
        assert_string_equal(json_string_value(json_object_get(r, "verdict")), ridge_verdict_name(results[i].verdict));
    }
    json_decref(record);
}

static void a_bench_runs_single_ways_in_the_order_of_their_names(void **state) {
    static const char *const names[] = {"cpu/optimized:product", "cpu/optimized", "cpu/optimized:fused"};
    const ridge_target *linear = ridge_target_find("linear_softmax");
    const ridge_case c = {.dim = {9, 40, 5}, .dtype = RIDGE_F32};
    ridge_tuned *tuned = ridge_tuned_new();
    char all[400] = "ridge-tuned 1\n";
    ridge_error error = {0};
    int n;
    (void)state;
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
        (void)snprintf(all + strlen(all), sizeof all - strlen(all),
                       "%sx1 linear_softmax cpu/optimized product f32 9x40x5 0 -\n", ridge_isa_name((ridge_isa)isa));
    if (ridge_tuned_parse(tuned, all, strlen(all), "test", &error) != RIDGE_OK) fail_msg("%s", error.text);
    ridge_bench *bench = open_bench(&(ridge_bench_settings){.tuned = tuned});
    if (ridge_bench_run(bench, linear, &c, names, 3, &error) != RIDGE_OK) fail_msg("%s", error.text);
    const ridge_bench_result *results = ridge_bench_results(bench, &n);
    assert_int_equal(n, 3);
    for (int i = 0; i < n; i++) {
        assert_string_equal(results[i].variant, names[i]);
        assert_true(results[i].verdict != RIDGE_VERDICT_WRONG && results[i].worst > 0 && results[i].worst <= 1);
    }
    assert_string_equal(results[0].way, "product");
    assert_string_equal(results[1].way, "product");
    assert_string_equal(results[2].way, "fused");
    check_record(bench, results, n);
    ridge_bench_close(bench);
    ridge_tuned_free(tuned);
}

static void a_bench_says_what_it_refuses(void **state) {
    static const struct {
        const char *variant;
        ridge_case c;
        ridge_status status;
        const char *says;
    } bad[] = {
        {"cpu/nosuch", {.dim = {9, 40, 5}, .dtype = RIDGE_F32}, RIDGE_NOT_FOUND, "'cpu/nosuch' for cpu"},
        {"cpu/optimized:nosuch", {.dim = {9, 40, 5}, .dtype = RIDGE_F32}, RIDGE_NOT_FOUND, "optimized:nosuch"},
        {"cpu/baseline:fused", {.dim = {9, 40, 5}, .dtype = RIDGE_F32}, RIDGE_NOT_FOUND, "baseline:fused"},
        {"cuda/optimized", {.dim = {9, 40, 5}, .dtype = RIDGE_F32}, RIDGE_NOT_FOUND, "for cpu"},
        {"cpu/optimized", {.dim = {9, 40, 5}, .dtype = RIDGE_BF16}, RIDGE_INVALID, "type"},
        {"cpu/optimized", {.dim = {9, -1, 5}, .dtype = RIDGE_F32}, RIDGE_INVALID, "negative"},
        {"cpu/optimized", {.dim = {9, 0, 5}, .dtype = RIDGE_F32}, RIDGE_INVALID, "at least 1"},
        {"cpu/optimized", {.dim = {9, 40, 5}, .dtype = RIDGE_F32, .column_major = 1}, RIDGE_INVALID, "column-major"},
        {"cpu/optimized", {.dim = {INT64_C(1) << 40, 40, 5}, .dtype = RIDGE_F32}, RIDGE_INVALID, "GB"},
    };
    ridge_bench *bench = open_bench(NULL), *none = bench;
    ridge_error error = {0};
    int n;
    (void)state;
    if (ridge_bench_run(bench, &target, &cases[0], NULL, 0, &error) != RIDGE_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const ridge_target *linear = ridge_target_find("linear_softmax");
        assert_int_equal(ridge_bench_run(bench, linear, &bad[i].c, &bad[i].variant, 1, &error), bad[i].status);
        if (!strstr(error.text, bad[i].says)) fail_msg("'%s' does not say '%s'", error.text, bad[i].says);
        (void)ridge_bench_results(bench, &n);
        assert_int_equal(n, 0); /* what was measured before is gone */
    }
    assert_int_equal(ridge_bench_write(bench, "/nowhere/run.json", &error), RIDGE_INVALID);
    ridge_bench_close(bench);
    const ridge_bench_settings many = {.threads = machine.threads + 1};
    assert_int_equal(ridge_bench_open(RIDGE_BACKEND_cpu, &many, &none, &error), RIDGE_INVALID);
    assert_null(none);
    if (machine.gpu.sm == 0) {
        assert_int_equal(ridge_bench_open(RIDGE_BACKEND_cuda, NULL, &none, &error), RIDGE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "no GPU: "));
    }
}

static void an_interrupted_bench_has_no_results(void **state) {
    static volatile sig_atomic_t interrupted = 1;
    ridge_bench *bench = open_bench(&(ridge_bench_settings){.interrupted = &interrupted});
    ridge_error error = {0};
    int n;
    (void)state;
    assert_int_equal(ridge_bench_run(bench, &target, &cases[0], NULL, 0, &error), RIDGE_INTERRUPTED);
    (void)ridge_bench_results(bench, &n);
    assert_int_equal(n, 0);
    ridge_bench_close(bench);
}

/* The cache file has what a probe measures: a whole set takes 10 s. */
static int set_up(void **state) {
    static ridge_ceilings c;
    ridge_probe probe = {0};
    ridge_error error = {0};
    (void)state;
    if (!mkdtemp(cache) || setenv("XDG_CACHE_HOME", cache, 1) != 0) return -1;
    if (ridge_machine_detect(&machine, &error) != RIDGE_OK) return -1;
    c = (ridge_ceilings){.date = "2026-01-01T00:00:00Z", .threads = 1, .n_levels = 1, .n_peaks = 1};
    (void)snprintf(c.key, sizeof c.key, "%s", machine.key);
    if (ridge_ceilings_probe(&machine, 1, &probe, &c.levels[0], &c.peaks[0], &error) != RIDGE_OK) return -1;
    return ridge_ceilings_save(&c, &error) == RIDGE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    char path[1024], folder[64];
    ridge_error error = {0};
    (void)state;
    if (ridge_ceilings_path(&machine, 1, path, (int)sizeof path, &error) == RIDGE_OK) (void)unlink(path);
    (void)snprintf(folder, sizeof folder, "%s/ridge", cache);
    (void)rmdir(folder);
    return rmdir(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_becomes_a_record),
        cmocka_unit_test(probes_raise_the_ceilings),
        cmocka_unit_test(an_interruption_keeps_what_is_finished),
        cmocka_unit_test(measurements_are_repeated_and_joined),
        cmocka_unit_test(an_interruption_keeps_the_first_measurements),
        cmocka_unit_test(hooks_are_called_and_may_end_the_run),
        cmocka_unit_test(warming_up_verifies_and_keeps_no_sample),
        cmocka_unit_test(a_forecast_tells_what_fits),
        cmocka_unit_test(bad_plans_are_refused),
        cmocka_unit_test(a_summary_has_work_and_no_times),
        cmocka_unit_test(ceilings_come_from_the_file),
        cmocka_unit_test(a_bench_measures_a_programs_own_target),
        cmocka_unit_test(a_bench_runs_single_ways_in_the_order_of_their_names),
        cmocka_unit_test(a_bench_says_what_it_refuses),
        cmocka_unit_test(an_interrupted_bench_has_no_results),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
