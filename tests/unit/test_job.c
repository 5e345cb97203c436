/* Measured jobs: what a crash, an endless loop, a wrong sample and an exhausted memory cost, and what they do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "measure/job.h"

/* A target of this test alone: y = 2 x, with one variant for each way to go wrong. */
static void doubled(const ridge_call *call, int64_t rows) {
    const float *x = ridge_data(&call->in[0]);
    float *y = ridge_data(&call->out[0]);
    for (int64_t i = 0; i < rows * call->dim[1]; i++) y[i] = 2 * x[i];
}

static int launches; /* in the worker, so counted from its start */

static ridge_status good(const ridge_call *call) { return doubled(call, call->dim[0]), RIDGE_OK; }
static ridge_status crash(const ridge_call *call) {
    if (++launches > 5) raise(SIGSEGV);
    return good(call);
}
static ridge_status loop(const ridge_call *call) {
    for (volatile int go = 1; go;) continue;
    return good(call);
}
static ridge_status late_nan(const ridge_call *call) {
    (void)good(call);
    if (++launches > 7) ((float *)ridge_data(&call->out[0]))[3] = __builtin_nanf("");
    return RIDGE_OK;
}
static ridge_status late_stale(const ridge_call *call) {
    if (++launches <= 7) return good(call);
    return doubled(call, call->dim[0] - 1), RIDGE_OK;
}
static ridge_status refuses(const ridge_call *call) { return (void)call, RIDGE_UNSUPPORTED; }
static ridge_status quits(const ridge_call *call) { return (void)call, exit(7), RIDGE_OK; }
static const char *never(const ridge_case *c) { return (void)c, "not today"; }

static const ridge_case cases[] = {{.dim = {16, 33}, .dtype = RIDGE_F32}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};
enum { BASELINE, OPTIMIZED, CRASH, LOOP, LATE_NAN, LATE_STALE, REFUSES, QUITS, SKIPPED };
static const ridge_variant variants[] = {
    [BASELINE] = {.name = "cpu/baseline", .role = RIDGE_BASELINE, .run = RIDGE_ANY_ISA(good)},
    [OPTIMIZED] = {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(good)},
    [CRASH] = {.name = "cpu/crash", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(crash)},
    [LOOP] = {.name = "cpu/loop", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(loop)},
    [LATE_NAN] = {.name = "cpu/late_nan", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(late_nan)},
    [LATE_STALE] = {.name = "cpu/late_stale", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(late_stale)},
    [REFUSES] = {.name = "cpu/refuses", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(refuses)},
    [QUITS] = {.name = "cpu/quits", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(quits)},
    [SKIPPED] = {.name = "cpu/skipped", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(good), .unavailable = never},
};
static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.flops = n, .bytes_read = 4 * n, .bytes_written = 4 * n};
}
static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) call->out[0][i] = 2 * call->in[0][i];
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}
static const ridge_target target = {.name = "doubled",
                                    .chapter = "test",
                                    .summary = "y = 2 x",
                                    .dims = {"rows", "cols"},
                                    .cases = RIDGE_LIST(cases),
                                    .in = RIDGE_LIST(in),
                                    .out = RIDGE_LIST(out),
                                    .variants = RIDGE_LIST(variants),
                                    .work = work,
                                    .oracle = oracle,
                                    .bound = bound};

static ridge_job job_of(const int *list, int n) {
    return (ridge_job){.target = &target,
                       .c = cases[0],
                       .variants = list,
                       .n_variants = n,
                       .isa = RIDGE_ISA_scalar,
                       .threads = 1,
                       .seed = 3,
                       .max_time = 5,
                       .iterations = 12,
                       .last_level = 1 << 16,
                       .launch_limit = 1};
}

static void run(const int *list, int n, ridge_job_result *result) {
    const ridge_job job = job_of(list, n);
    ridge_error error = {0};
    assert_int_equal(ridge_job_run(&job, NULL, NULL, NULL, result, &error), RIDGE_OK);
    assert_int_equal(result->n_series, n);
}

static void all_samples_there(const ridge_series *series) {
    assert_int_equal(series->outcome, RIDGE_OUTCOME_DONE);
    assert_true(series->check.ok);
    assert_int_equal(series->n, 24);
    for (int i = 0; i < series->n; i++) {
        assert_true(series->samples[i].time_us > 0);
        assert_true(series->samples[i].rows_checked > 0);
        for (int k = 0; k < i; k++) assert_true(series->samples[i].seed != series->samples[k].seed);
    }
}

static void good_variants_visit_every_round_twice(void **state) {
    (void)state;
    const int list[] = {BASELINE, OPTIMIZED};
    ridge_job_result r;
    run(list, 2, &r);
    assert_int_equal(r.stop, RIDGE_STOP_ITERATIONS);
    for (int v = 0; v < 2; v++) {
        all_samples_there(&r.series[v]);
        for (int i = 0; i < r.series[v].n; i++) {
            assert_int_equal(r.series[v].samples[i].round, i / 2);
            assert_int_equal(r.series[v].samples[i].visit, i % 2);
        }
    }
    assert_true(r.series[0].compared && r.series[0].agreement.agree);
    assert_true(r.frame_us > 0);
    ridge_job_result_free(&r);
}

static void one_bad_variant_costs_itself_only(void **state) {
    static const struct {
        int variant;
        ridge_outcome outcome;
        const char *reason;
    } bad[] = {
        {CRASH, RIDGE_OUTCOME_FAILED, "SIGSEGV"},         {LOOP, RIDGE_OUTCOME_FAILED, "limit of 1 s"},
        {LATE_NAN, RIDGE_OUTCOME_WRONG, "round"},         {LATE_STALE, RIDGE_OUTCOME_WRONG, "never written"},
        {REFUSES, RIDGE_OUTCOME_FAILED, "not supported"}, {QUITS, RIDGE_OUTCOME_FAILED, "status 7"},
        {SKIPPED, RIDGE_OUTCOME_SKIPPED, "not today"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const int list[] = {BASELINE, bad[i].variant, OPTIMIZED};
        ridge_job_result r;
        run(list, 3, &r);
        assert_int_equal(r.series[1].outcome, bad[i].outcome);
        if (!strstr(r.series[1].reason, bad[i].reason)) fail_msg("reason was: %s", r.series[1].reason);
        assert_int_equal(r.series[0].outcome, RIDGE_OUTCOME_DONE);
        assert_int_equal(r.series[2].outcome, RIDGE_OUTCOME_DONE);
        assert_true(r.series[0].n >= 20 && r.series[2].n >= 20);
        ridge_job_result_free(&r);
    }
}

static void several_bad_variants_cost_themselves_only(void **state) {
    (void)state;
    const int list[] = {CRASH, BASELINE, QUITS, LATE_NAN, OPTIMIZED};
    ridge_job_result r;
    run(list, 5, &r);
    assert_int_equal(r.series[0].outcome, RIDGE_OUTCOME_FAILED);
    assert_int_equal(r.series[2].outcome, RIDGE_OUTCOME_FAILED);
    assert_int_equal(r.series[3].outcome, RIDGE_OUTCOME_WRONG);
    assert_int_equal(r.series[1].outcome, RIDGE_OUTCOME_DONE);
    assert_int_equal(r.series[4].outcome, RIDGE_OUTCOME_DONE);
    ridge_job_result_free(&r);
}

static void an_interrupt_ends_the_worker(void **state) {
    (void)state;
    const int list[] = {BASELINE, OPTIMIZED};
    const volatile sig_atomic_t interrupted = 1;
    const ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_error error = {0};
    assert_int_equal(ridge_job_run(&job, &interrupted, NULL, NULL, &r, &error), RIDGE_INTERRUPTED);
    ridge_job_result_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_variants_visit_every_round_twice),
        cmocka_unit_test(one_bad_variant_costs_itself_only),
        cmocka_unit_test(several_bad_variants_cost_themselves_only),
        cmocka_unit_test(an_interrupt_ends_the_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
