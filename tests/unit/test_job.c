/* Measured jobs: what a crash, an endless loop, a wrong sample and an exhausted memory cost, and what they do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/device.h"
#include "measure/event.h"
#include "measure/isolate.h"

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
static ridge_status slow(const ridge_call *call) {
    usleep(10000);
    return good(call);
}
static ridge_status quits(const ridge_call *call) { return (void)call, exit(7), RIDGE_OK; }
/* ---- variants that reach for the worker's socket ---- */

static int worker_socket(void) {
    for (int fd = 3; fd < 256; fd++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) return fd;
    }
    return -1;
}

static ridge_event forged(void) {
    ridge_event event;
    memset(&event, 0, sizeof event);
    event.magic = RIDGE_EVENT_MAGIC;
    return event;
}

static ridge_status half_event(const ridge_call *call) {
    const ridge_event event = forged();
    if (++launches == 3 && write(worker_socket(), &event, sizeof event / 2) < 0) return RIDGE_FAILED;
    return good(call);
}
static ridge_status empty_event(const ridge_call *call) {
    if (++launches == 1 && send(worker_socket(), "", 0, 0) != 0) return RIDGE_FAILED;
    return good(call);
}
/* As a worker whose GPU a kernel has broken: it says whose launch that was, and ends. */
static ridge_status tells_and_ends(const ridge_call *call) {
    ridge_event event = forged();
    event.kind = RIDGE_EVENT_FAILED;
    event.slot = 1; /* its place in the list of the job */
    (void)snprintf(event.text, sizeof event.text, "an illegal memory access");
    if (++launches == 2 && write(worker_socket(), &event, sizeof event) > 0) _exit(0);
    return good(call);
}
static void *send_for_ever(void *arg) {
    const ridge_event *event = arg;
    while (write(worker_socket(), event, sizeof *event) > 0) continue;
    return NULL;
}
static ridge_status flood_of(const ridge_call *call, uint32_t kind) {
    static ridge_event event;
    pthread_t thread;
    if (++launches == 1) {
        event = forged();
        event.kind = kind;
        if (pthread_create(&thread, NULL, send_for_ever, &event) != 0) return RIDGE_FAILED;
    }
    usleep(20000); /* time for the flood */
    return good(call);
}
static ridge_status floods_frames(const ridge_call *call) { return flood_of(call, RIDGE_EVENT_FRAME); }
static ridge_status floods_samples(const ridge_call *call) { return flood_of(call, RIDGE_EVENT_SAMPLE); }
static ridge_status floods_and_stays(const ridge_call *call) {
    ridge_event event = forged();
    event.kind = RIDGE_EVENT_FRAME;
    (void)send_for_ever(&event);
    return good(call);
}
/* The page that worker and judge share; the only shared mapping of a page, unless a diary is open. */
static ridge_watch *worker_watch(void) {
    char line[400], mode[8];
    void *begin, *end;
    ridge_watch *found = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        if (sscanf(line, "%p-%p %7s", &begin, &end, mode) == 3 && strcmp(mode, "rw-s") == 0 &&
            (char *)end - (char *)begin == sysconf(_SC_PAGESIZE))
            found = begin;
    if (maps) (void)fclose(maps);
    return found;
}
/* As a worker that begins a launch between the judge's two looks, at the clock and at the page. */
static ridge_status begins_ahead(const ridge_call *call) {
    ridge_watch *watch = worker_watch();
    if (!watch) return RIDGE_FAILED;
    if (++launches == 1) {
        atomic_store(&watch->since_ns, ridge_clock_ns() + 1000000000);
        usleep(300000); /* time for the judge to look */
    }
    return good(call);
}
static ridge_status closes(const ridge_call *call) { return close(worker_socket()), good(call); }
static ridge_status closes_and_stays(const ridge_call *call) { return close(worker_socket()), loop(call); }
static ridge_status diverts(const ridge_call *call) {
    if (++launches == 1) (void)dup2(open("/dev/null", O_WRONLY), worker_socket());
    return good(call);
}
static ridge_status leaves_a_child(const ridge_call *call) {
    if (++launches == 1 && fork() == 0) sleep(8), _exit(0); /* it holds the socket open */
    return good(call);
}

/* ---- variants that are right at the first look ---- */

static ridge_status second_wrong(const ridge_call *call) {
    const bool wrong = ++launches == 2;
    float *y = ridge_data(&call->out[0]);
    (void)good(call);
    for (int64_t i = 0; wrong && i < call->dim[0] * call->dim[1]; i++) y[i] += 1;
    return RIDGE_OK;
}

/* ---- a variant that keeps a diary, in memory that outlives the worker ---- */

enum { MOST_NOTES = 4096, BEFORE_ROUNDS = 4 };
typedef struct diary {
    atomic_int n;
    struct {
        const void *x, *y;
        uint32_t before; /* the first element of y, as the launch found it */
    } note[MOST_NOTES];
} diary;
static diary *notes;
static int hiccup_at = -1; /* the launch that something else holds up, by its number in the diary */

static ridge_status writes_diary(const ridge_call *call) {
    int n = atomic_fetch_add(&notes->n, 1);
    if (n >= MOST_NOTES) return RIDGE_FAILED;
    if (n == hiccup_at) usleep(5000);
    notes->note[n].x = ridge_data(&call->in[0]);
    notes->note[n].y = ridge_data(&call->out[0]);
    memcpy(&notes->note[n].before, notes->note[n].y, sizeof notes->note[n].before);
    return good(call);
}

static const char *never(const ridge_case *c) { return (void)c, "not today"; }

static const ridge_case cases[] = {{.dim = {16, 33}, .dtype = RIDGE_F32}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};
enum {
    BASELINE,
    OPTIMIZED,
    CRASH,
    LOOP,
    LATE_NAN,
    LATE_STALE,
    REFUSES,
    REFUSES_OPTIMIZED,
    SLOW,
    QUITS,
    SKIPPED,
    HALF_EVENT,
    EMPTY_EVENT,
    TELLS_AND_ENDS,
    FLOODS_FRAMES,
    FLOODS_SAMPLES,
    FLOODS_AND_STAYS,
    BEGINS_AHEAD,
    CLOSES,
    CLOSES_AND_STAYS,
    DIVERTS,
    LEAVES_A_CHILD,
    SECOND_WRONG,
    SECOND_WRONG_OPTIMIZED,
    DIARY,
    DIARY_OPTIMIZED,
};
static const ridge_variant variants[] = {
    [BASELINE] = {.name = "cpu/baseline", .role = RIDGE_BASELINE, .run = RIDGE_ANY_ISA(good)},
    [OPTIMIZED] = {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(good)},
    [CRASH] = {.name = "cpu/crash", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(crash)},
    [LOOP] = {.name = "cpu/loop", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(loop)},
    [LATE_NAN] = {.name = "cpu/late_nan", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(late_nan)},
    [LATE_STALE] = {.name = "cpu/late_stale", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(late_stale)},
    [REFUSES] = {.name = "cpu/refuses", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(refuses)},
    [REFUSES_OPTIMIZED] = {.name = "cpu/refuses_optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(refuses)},
    [SLOW] = {.name = "cpu/slow", .role = RIDGE_BASELINE, .run = RIDGE_ANY_ISA(slow)},
    [QUITS] = {.name = "cpu/quits", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(quits)},
    [SKIPPED] = {.name = "cpu/skipped", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(good), .unavailable = never},
    [HALF_EVENT] = {.name = "cpu/half_event", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(half_event)},
    [EMPTY_EVENT] = {.name = "cpu/empty_event", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(empty_event)},
    [TELLS_AND_ENDS] = {.name = "cpu/tells_and_ends", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(tells_and_ends)},
    [FLOODS_FRAMES] = {.name = "cpu/floods_frames", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(floods_frames)},
    [FLOODS_SAMPLES] = {.name = "cpu/floods_samples", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(floods_samples)},
    [FLOODS_AND_STAYS] = {.name = "cpu/floods_and_stays", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(floods_and_stays)},
    [BEGINS_AHEAD] = {.name = "cpu/begins_ahead", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(begins_ahead)},
    [CLOSES] = {.name = "cpu/closes", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(closes)},
    [CLOSES_AND_STAYS] = {.name = "cpu/closes_and_stays", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(closes_and_stays)},
    [DIVERTS] = {.name = "cpu/diverts", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(diverts)},
    [LEAVES_A_CHILD] = {.name = "cpu/leaves_a_child", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(leaves_a_child)},
    [SECOND_WRONG] = {.name = "cpu/second_wrong", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(second_wrong)},
    [SECOND_WRONG_OPTIMIZED] = {.name = "cpu/second_wrong_optimized",
                                .role = RIDGE_OPTIMIZED,
                                .run = RIDGE_ANY_ISA(second_wrong)},
    [DIARY] = {.name = "cpu/diary", .role = RIDGE_BASELINE, .run = RIDGE_ANY_ISA(writes_diary)},
    [DIARY_OPTIMIZED] = {.name = "cpu/diary_optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(writes_diary)},
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
    if (series->outcome != RIDGE_OUTCOME_DONE) fail_msg("outcome %d: %s", (int)series->outcome, series->reason);
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
        {CRASH, RIDGE_OUTCOME_FAILED, "SIGSEGV"},
        {LOOP, RIDGE_OUTCOME_FAILED, "limit of 1 s"},
        {LATE_NAN, RIDGE_OUTCOME_WRONG, "round"},
        {LATE_STALE, RIDGE_OUTCOME_WRONG, "never written"},
        {REFUSES, RIDGE_OUTCOME_SKIPPED, "does not take this case"},
        {REFUSES_OPTIMIZED, RIDGE_OUTCOME_FAILED, "not supported"}, /* it has said that it takes the case */
        {QUITS, RIDGE_OUTCOME_FAILED, "status 7"},
        {SKIPPED, RIDGE_OUTCOME_SKIPPED, "not today"},
        {HALF_EVENT, RIDGE_OUTCOME_FAILED, "no event"},
        {EMPTY_EVENT, RIDGE_OUTCOME_FAILED, "no event"},
        {TELLS_AND_ENDS, RIDGE_OUTCOME_FAILED, "illegal memory access"},
        {CLOSES, RIDGE_OUTCOME_FAILED, "status 1"},
        {CLOSES_AND_STAYS, RIDGE_OUTCOME_FAILED, "limit of 1 s"},
        {LEAVES_A_CHILD, RIDGE_OUTCOME_DONE, ""},
        {BEGINS_AHEAD, RIDGE_OUTCOME_DONE, ""},
        {SECOND_WRONG, RIDGE_OUTCOME_WRONG, "not in every launch"},
        {SECOND_WRONG_OPTIMIZED, RIDGE_OUTCOME_WRONG, "not in every launch"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const int list[] = {BASELINE, bad[i].variant, OPTIMIZED};
        ridge_job_result r;
        run(list, 3, &r);
        assert_int_equal(r.series[1].outcome, bad[i].outcome);
        if (!strstr(r.series[1].reason, bad[i].reason))
            fail_msg("%s: reason was: %s", variants[bad[i].variant].name, r.series[1].reason);
        assert_int_equal(r.series[1].outcome, bad[i].outcome);
        for (int v = 0; v < 3; v += 2)
            if (r.series[v].outcome != RIDGE_OUTCOME_DONE)
                fail_msg("%s: variant %d: %s", variants[bad[i].variant].name, v, r.series[v].reason);
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

/* Forged events without end: from a thread, so that no launch is overdue. Whom they are blamed on is a guess. */
static void a_flood_of_events_ends(void **state) {
    static const struct {
        int variant;
        const char *reason;
    } floods[] = {{FLOODS_FRAMES, "without end"}, {FLOODS_SAMPLES, "more samples"}, {FLOODS_AND_STAYS, "i"}};
    (void)state;
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        const int list[] = {floods[i].variant, OPTIMIZED};
        ridge_job_result r;
        bool told = false;
        run(list, 2, &r);
        for (int v = 0; v < 2; v++) told = told || strstr(r.series[v].reason, floods[i].reason);
        if (!told) fail_msg("reasons were: %s; %s", r.series[0].reason, r.series[1].reason);
        for (int v = 0; v < 2; v++) assert_true(r.series[v].n < 1000);
        ridge_job_result_free(&r);
    }
}

/* As when a standard stream was closed and the worker's /dev/null took the place of its connection. */
static void no_samples_is_a_failure(void **state) {
    const int list[] = {BASELINE, DIVERTS, OPTIMIZED};
    ridge_job_result r;
    (void)state;
    run(list, 3, &r);
    for (int v = 0; v < 3; v++) {
        assert_int_equal(r.series[v].n, 0);
        assert_int_equal(r.series[v].outcome, RIDGE_OUTCOME_FAILED);
        assert_non_null(strstr(r.series[v].reason, "without a sample"));
    }
    ridge_job_result_free(&r);
}

/* The limit may be so short that no round fits: one is made all the same. */
static void every_job_has_a_round(void **state) {
    const int list[] = {BASELINE, OPTIMIZED};
    ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_error error = {0};
    (void)state;
    job.iterations = 0;
    job.max_time = 1e-12;
    assert_int_equal(ridge_job_run(&job, NULL, NULL, NULL, &r, &error), RIDGE_OK);
    assert_int_equal(r.stop, RIDGE_STOP_TIME);
    for (int v = 0; v < 2; v++) assert_true(r.series[v].outcome == RIDGE_OUTCOME_DONE && r.series[v].n >= 2);
    ridge_job_result_free(&r);
}

/* A batch could hold hundreds of launches of small operands: it holds no more rounds than the stop rule asks for and patience pays
 * for, a launch of the slow variant being known from those before the rounds. */
static int rounds_in_one_batch(int baseline, double patience) {
    const int list[] = {baseline, OPTIMIZED};
    ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_error error = {0};
    job.iterations = 0;
    job.max_time = 1e-12, job.patience = patience;
    job.last_level = 1 << 22;
    assert_int_equal(ridge_job_run(&job, NULL, NULL, NULL, &r, &error), RIDGE_OK);
    assert_int_equal(r.stop, RIDGE_STOP_TIME);
    const int rounds = r.rounds;
    for (int v = 0; v < 2; v++) assert_int_equal(r.series[v].n, 2 * rounds);
    ridge_job_result_free(&r);
    return rounds;
}
static void small_operands_keep_the_time(void **state) {
    (void)state;
    assert_int_equal(rounds_in_one_batch(BASELINE, 60), RIDGE_LEAST_ROUNDS);
    assert_int_equal(rounds_in_one_batch(BASELINE, 1e-12), 1);
    assert_int_equal(rounds_in_one_batch(SLOW, 60), RIDGE_LEAST_ROUNDS);
    const int some = rounds_in_one_batch(SLOW, 0.1); /* of 20 ms each */
    assert_true(some >= 1 && some <= 6);
}

/* ---- two right answers that differ ---- */

/* y = x * s, where s may be any number up to 10: each variant's y is right for its own s. */
static ridge_status scaled(const ridge_call *call, float s) {
    const float *x = ridge_data(&call->in[0]);
    float *y = ridge_data(&call->out[0]), *scale = ridge_data(&call->out[1]);
    for (int64_t j = 0; j < call->dim[1]; j++) scale[j] = s;
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) y[i] = s * x[i];
    return RIDGE_OK;
}
static ridge_status by_two(const ridge_call *call) { return scaled(call, 2); }
static ridge_status by_four(const ridge_call *call) { return scaled(call, 4); }
static void blind_oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; call->out[0] && i < call->dim[0] * call->dim[1]; i++)
        call->out[0][i] = call->in[0][i] * call->given[1][i % call->dim[1]];
    for (int64_t j = 0; call->out[1] && j < call->dim[1]; j++) call->out[1][j] = 0;
}
static void blind_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind;
    *b = (ridge_bound){.absolute = output == 1 ? 10 : 0};
}
static const ridge_tensor_spec blind_out[] = {{.name = "y", .rank = 2, .dim = {0, 1}},
                                              {.name = "s", .rank = 1, .dim = {1}, .given = true}};
static const ridge_variant blind_variants[] = {
    {.name = "cpu/two", .role = RIDGE_BASELINE, .run = RIDGE_ANY_ISA(by_two)},
    {.name = "cpu/four", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(by_four)},
    {.name = "cpu/four_too", .role = RIDGE_PEER, .run = RIDGE_ANY_ISA(by_four)},
};
static const ridge_target blind = {.name = "blind",
                                   .chapter = "test",
                                   .summary = "y = x * s, any s",
                                   .dims = {"rows", "cols"},
                                   .cases = RIDGE_LIST(cases),
                                   .in = RIDGE_LIST(in),
                                   .out = RIDGE_LIST(blind_out),
                                   .variants = RIDGE_LIST(blind_variants),
                                   .work = work,
                                   .oracle = blind_oracle,
                                   .bound = blind_bound};

static void a_difference_beyond_both_bounds_is_wrong(void **state) {
    const int list[] = {0, 1, 2};
    ridge_job job = job_of(list, 3);
    ridge_job_result r;
    ridge_error error = {0};
    (void)state;
    job.target = &blind;
    assert_int_equal(ridge_job_run(&job, NULL, NULL, NULL, &r, &error), RIDGE_OK);
    assert_true(r.series[0].compared && !r.series[0].agreement.agree);
    assert_int_equal(r.series[0].outcome, RIDGE_OUTCOME_WRONG);
    if (!strstr(r.series[0].reason, "differs from cpu/four") || !strstr(r.series[0].reason, "more than both bounds"))
        fail_msg("reason was: %s", r.series[0].reason);
    for (int v = 1; v < 3; v++) all_samples_there(&r.series[v]);
    ridge_job_result_free(&r);
}

/* ---- which operands a launch finds ---- */

static void open_diary(void) {
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(notes != MAP_FAILED);
}

/* The first check and the comparison launch each of the two variants once. Then come the launches of the rounds, each
 * with the untimed one before it. Returns how many timed ones found the operands of their untimed one. */
static int same_operands(bool hot, int *of) {
    const int list[] = {DIARY, DIARY_OPTIMIZED};
    ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_error error = {0};
    open_diary();
    job.hot = hot;
    assert_int_equal(ridge_job_run(&job, NULL, NULL, NULL, &r, &error), RIDGE_OK);
    for (int v = 0; v < 2; v++) all_samples_there(&r.series[v]);
    int same = 0, n = atomic_load(&notes->n);
    *of = 2 * 24;
    assert_int_equal(n, BEFORE_ROUNDS + 2 * *of);
    for (int i = BEFORE_ROUNDS; i < n; i += 2) {
        float untouched;
        same += notes->note[i].x == notes->note[i + 1].x && notes->note[i].y == notes->note[i + 1].y;
        memcpy(&untouched, &notes->note[i + 1].before, sizeof untouched);
        assert_true(untouched != untouched); /* poison is a NaN */
    }
    ridge_job_result_free(&r);
    assert_int_equal(munmap(notes, sizeof *notes), 0);
    return same;
}

static void hot_is_one_set_of_operands(void **state) {
    int all;
    (void)state;
    int same = same_operands(true, &all);
    assert_int_equal(same, all);
    same = same_operands(false, &all);
    assert_int_equal(same, 0); /* cold: the untimed launch must not bring the timed operands into cache */
}

/* A launch that was held up for longer than threads take to wake must not cost the next one its untimed launch. */
static void one_slow_launch_changes_no_other(void **state) {
    int all;
    (void)state;
    hiccup_at = BEFORE_ROUNDS + 21; /* a timed launch */
    int same = same_operands(false, &all);
    hiccup_at = -1;
    assert_int_equal(same, 0);
}

/* ---- interrupts and children ---- */

static volatile sig_atomic_t rung;
static void on_alarm(int number) { (void)number, rung = 1; }

static void sleeps(const void *arg, void *answer) {
    (void)answer;
    sleep(*(const unsigned *)arg);
}

static double seconds_of_isolated(unsigned wanted, const volatile sig_atomic_t *interrupted, ridge_status *status) {
    const ridge_child_limits limits = {.threads = 1, .interrupted = interrupted};
    const uint64_t began = ridge_clock_ns();
    ridge_error error = {0};
    char answer = 0;
    *status = ridge_isolate(sleeps, &wanted, &answer, sizeof answer, &limits, 30, &error);
    return ridge_seconds_since(began);
}

static void an_interrupt_does_not_wait_for_the_limit(void **state) {
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval soon = {.it_value = {.tv_usec = 200000}};
    const int list[] = {LOOP, OPTIMIZED};
    ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_status status;
    ridge_error error = {0};
    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    rung = 0;
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_true(seconds_of_isolated(20, &rung, &status) < 5);
    assert_int_equal(status, RIDGE_INTERRUPTED);
    rung = 0;
    job.launch_limit = 30;
    const uint64_t began = ridge_clock_ns();
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(ridge_job_run(&job, &rung, NULL, NULL, &r, &error), RIDGE_INTERRUPTED);
    assert_true(ridge_seconds_since(began) < 5);
    ridge_job_result_free(&r);
}

static void note_what_lasts(void *arg, double share, const char *doing) {
    (void)share;
    if (doing) (void)snprintf(arg, 80, "%s", doing);
}

/* An endless launch ends soon after the run's time, and is told of meanwhile. */
static void what_is_left_of_a_run_limits_a_launch(void **state) {
    const int list[] = {LOOP, OPTIMIZED};
    ridge_job job = job_of(list, 2);
    ridge_job_result r;
    ridge_error error = {0};
    char lasted[80] = "";
    (void)state;
    job.launch_limit = 18; /* of which a launch may take 3 s beyond the end */
    job.ends_ns = ridge_clock_ns() + 100000000;
    const uint64_t began = ridge_clock_ns();
    assert_int_equal(ridge_job_run(&job, NULL, note_what_lasts, lasted, &r, &error), RIDGE_OK);
    assert_true(ridge_seconds_since(began) < 10);
    assert_int_equal(r.series[0].outcome, RIDGE_OUTCOME_SKIPPED);
    assert_string_equal(r.series[0].reason, "a launch took 3 s, and the run's time was over");
    assert_non_null(strstr(lasted, "running "));
    assert_true(r.cut);
    all_samples_there(&r.series[1]);
    ridge_job_result_free(&r);
}

/* A parent may have left SIGCHLD ignored, and waitpid then has no child to report. */
static void an_ignored_sigchld_costs_nothing(void **state) {
    const int list[] = {BASELINE, OPTIMIZED};
    ridge_job_result r;
    ridge_status status;
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    run(list, 2, &r);
    double took = seconds_of_isolated(0, NULL, &status);
    (void)signal(SIGCHLD, before);
    all_samples_there(&r.series[0]);
    assert_int_equal(status, RIDGE_OK);
    assert_true(took < 5);
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
        cmocka_unit_test(a_flood_of_events_ends),
        cmocka_unit_test(no_samples_is_a_failure),
        cmocka_unit_test(every_job_has_a_round),
        cmocka_unit_test(small_operands_keep_the_time),
        cmocka_unit_test(a_difference_beyond_both_bounds_is_wrong),
        cmocka_unit_test(hot_is_one_set_of_operands),
        cmocka_unit_test(one_slow_launch_changes_no_other),
        cmocka_unit_test(an_interrupt_ends_the_worker),
        cmocka_unit_test(an_interrupt_does_not_wait_for_the_limit),
        cmocka_unit_test(what_is_left_of_a_run_limits_a_launch),
        cmocka_unit_test(an_ignored_sigchld_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
