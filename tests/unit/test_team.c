/* The team: everyone runs once and all are seen to finish, awake or asleep, however many there are, also in a forked
 * child. Runs under TSan, which cannot follow threads started after a fork: those tests are skipped there. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/random.h"
#include "cpu/row.h"
#include "ridge/team.h"

#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREADS 1
#endif
#endif
#ifndef SANITIZED_THREADS
#define SANITIZED_THREADS 0
#endif

enum { MOST = 9 };

static ridge_team *team_of(int size, const int *cpus) {
    ridge_team *team = NULL;
    ridge_error error;
    assert_int_equal(ridge_team_create(size, cpus, &team, &error), RIDGE_OK);
    assert_int_equal(ridge_team_size(team), size);
    return team;
}

/* Plain variables on purpose: the team must order them, or TSan says that it does not. */
typedef struct calls {
    int64_t by_rank[MOST];
    int size;
    int64_t input;
    int64_t output[MOST];
} calls;

static void count_call(void *arg, int rank, int size) {
    calls *c = arg;
    c->by_rank[rank]++;
    c->output[rank] = c->input * 10 + rank;
    if (rank == 0) c->size = size;
}

static void nap(uint64_t seed) {
    /* Shorter and longer than the helpers spin, so that some pieces find them on their way to sleep. */
    struct timespec pause = {.tv_nsec = (long)(ridge_random(seed, 0) % 400000)};
    nanosleep(&pause, NULL);
}

static void run_pieces(int size, int pieces, int naps) {
    ridge_team *team = team_of(size, NULL);
    calls c = {.size = 0};
    for (int i = 0; i < pieces; i++) {
        c.input = i;
        ridge_team_run(team, count_call, &c);
        assert_int_equal(c.size, size);
        for (int r = 0; r < size; r++) {
            assert_int_equal(c.by_rank[r], i + 1);
            assert_int_equal(c.output[r], (int64_t)i * 10 + r);
        }
        if (i < naps) nap((uint64_t)(i * MOST + size));
        if (i % 50 == 49 && i < naps * 3) ridge_team_rest(team);
    }
    ridge_team_destroy(team);
}

static void everyone_runs_every_piece_once(void **state) {
    (void)state;
    for (int size = 1; size <= 3; size++) run_pieces(size, 1500, 150);
}

static void more_members_than_processors_work(void **state) {
    (void)state;
    run_pieces(MOST, 60, 20);
}

static void nothing_is_left_to_destroy_early_or_late(void **state) {
    (void)state;
    for (int i = 0; i < 60; i++) {
        ridge_team *team = team_of(1 + i % 4, NULL);
        calls c = {.size = 0};
        if (i % 3 > 0) ridge_team_run(team, count_call, &c);
        if (i % 3 > 1) nap((uint64_t)i);
        if (i % 5 == 0) ridge_team_rest(team);
        ridge_team_destroy(team);
    }
    ridge_team_destroy(NULL);
}

static void no_team_is_a_team_of_one(void **state) {
    (void)state;
    calls c = {.input = 4};
    ridge_team_run(NULL, count_call, &c);
    ridge_team_rest(NULL);
    assert_int_equal(c.size, 1);
    assert_int_equal(c.output[0], 40);
    assert_int_equal(ridge_team_size(NULL), 1);
}

static void senseless_sizes_are_refused(void **state) {
    (void)state;
    for (int size = -2; size <= 0; size++) {
        ridge_team *team = (ridge_team *)state;
        ridge_error error;
        assert_int_equal(ridge_team_create(size, NULL, &team, &error), RIDGE_INVALID);
        assert_null(team);
        assert_true(strlen(error.text) > 10);
    }
}

static void where_am_i(void *arg, int rank, int size) {
    (void)size;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) ((cpu_set_t *)arg)[rank] = set;
}

static void members_are_pinned_and_the_caller_let_go(void **state) {
    (void)state;
    cpu_set_t before, after, where[2];
    int cpus[2] = {-1, -1};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
        if (CPU_ISSET((size_t)cpu, &before)) cpus[n++] = cpu;
    if (cpus[1] < 0) cpus[1] = cpus[0];
    ridge_team *team = team_of(2, cpus);
    ridge_team_run(team, where_am_i, where);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(CPU_COUNT(&where[r]), 1);
        assert_true(CPU_ISSET((size_t)cpus[r], &where[r]));
    }
    ridge_team_destroy(team);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

/* Processor time that this process takes while its team rests. */
static void resting_members_take_no_cycles(void **state) {
    (void)state;
    ridge_team *team = team_of(3, NULL);
    calls c = {.size = 0};
    ridge_team_run(team, count_call, &c);
    ridge_team_rest(team);
    struct timespec before, after;
    const struct timespec pause = {.tv_nsec = 100000000};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t used = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
    assert_true(used < 20000000); /* of 200 ms that two spinning members would have taken */
    ridge_team_run(team, count_call, &c);
    for (int r = 0; r < 3; r++) assert_int_equal(c.by_rank[r], 2);
    ridge_team_destroy(team);
}

static void shares_cover_each_item_once(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        int64_t n = (int64_t)(ridge_random(seed, 0) % (seed & 1 ? 50 : 100000)),
                grain = 1 + (int64_t)(ridge_random(seed, 1) % 70);
        int size = 1 + (int)(ridge_random(seed, 2) % 40);
        int64_t next = 0, least = INT64_MAX, most = 0;
        for (int rank = 0; rank < size; rank++) {
            int64_t begin, end;
            ridge_share(n, grain, rank, size, &begin, &end);
            assert_int_equal(begin, next);
            assert_true(end >= begin);
            assert_true(begin % grain == 0 || begin == n);
            int64_t grains = (end - begin + grain - 1) / grain;
            least = grains < least ? grains : least;
            most = grains > most ? grains : most;
            next = end;
        }
        assert_int_equal(next, n);
        assert_true(most - least <= 1);
    }
}

/* ---- small work ---- */

static void small_work_is_the_callers_alone(void **state) {
    (void)state;
    ridge_team *team = team_of(3, NULL);
    calls c = {.size = 0};
    ridge_team_run_sized(team, RIDGE_TEAM_ALONE_BYTES - 1, count_call, &c);
    assert_int_equal(c.size, 1);
    assert_int_equal(c.by_rank[0], 1);
    ridge_team_run_sized(team, RIDGE_TEAM_ALONE_BYTES, count_call, &c);
    assert_int_equal(c.size, 3);
    for (int r = 0; r < 3; r++) assert_int_equal(c.by_rank[r], r == 0 ? 2 : 1);
    ridge_team_destroy(team);
}

static int64_t rows_of_rank[MOST];

static void note_rows(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)call;
    rows_of_rank[rank] = end - begin;
}

/* Rows of rank 0 of a team of two. */
static int64_t rows_of_caller(ridge_team *team, ridge_dtype dtype, int64_t rows, int64_t columns) {
    const int64_t dim[RIDGE_MAX_RANK] = {rows, columns};
    const ridge_call call = {.dim = dim, .dtype = dtype, .team = team};
    memset(rows_of_rank, 0, sizeof rows_of_rank);
    assert_int_equal(row_run(&call, note_rows, note_rows, note_rows), RIDGE_OK);
    assert_int_equal(rows_of_rank[0] + rows_of_rank[1], rows);
    return rows_of_rank[0];
}

static void rows_are_shared_where_that_pays(void **state) {
    (void)state;
    ridge_team *team = team_of(2, NULL);
    assert_int_equal(rows_of_caller(team, RIDGE_F32, 1, 4), 1);
    assert_int_equal(rows_of_caller(team, RIDGE_F32, 127, 64), 127);
    assert_int_equal(rows_of_caller(team, RIDGE_F32, 128, 64), 64); /* 64 KiB read and written */
    assert_int_equal(rows_of_caller(team, RIDGE_BF16, 128, 64), 128);
    assert_int_equal(rows_of_caller(team, RIDGE_BF16, 256, 64), 128);
    assert_int_equal(rows_of_caller(team, RIDGE_F32, 1, 1 << 20), 1);
    assert_int_equal(rows_of_caller(team, RIDGE_F32, 2, 1 << 20), 1);
    ridge_team_destroy(team);
}

/* ---- fork ---- */

enum { CHILD_SECONDS = 20 }; /* a child that hangs is killed by its alarm */

/* Whether a team of this process runs everyone once, twice in a row and after a rest. */
static bool everyone_runs(ridge_team *team, int size) {
    calls c = {.size = 0};
    for (int i = 0; i < 3; i++) {
        c.input = i;
        ridge_team_run(team, count_call, &c);
        if (c.size != size) return false;
        for (int r = 0; r < size; r++)
            if (c.by_rank[r] != i + 1 || c.output[r] != (int64_t)i * 10 + r) return false;
        if (i == 1) ridge_team_rest(team);
    }
    return true;
}

typedef int (*child_fn)(ridge_team *team);

/* Runs the function in a child, which ends with what it returns. */
static void expect_in_child(ridge_team *team, child_fn f, int status) {
    int how = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(f(team));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), status);
}

static int run_and_destroy(ridge_team *team) {
    const bool right = everyone_runs(team, 3);
    ridge_team_destroy(team);
    return right ? 7 : 1;
}
static int destroy_only(ridge_team *team) {
    ridge_team_destroy(team);
    return 7;
}
static int rest_and_run(ridge_team *team) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    ridge_team_rest(team); /* of helpers that are not there */
    clock_gettime(CLOCK_MONOTONIC, &after);
    if ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec > 10000000) return 1;
    return run_and_destroy(team);
}
static int run_in_grandchild(ridge_team *team) {
    if (!everyone_runs(team, 3)) return 1;
    int how = 0;
    const pid_t child = fork();
    if (child == 0) _exit(run_and_destroy(team));
    if (waitpid(child, &how, 0) != child || !WIFEXITED(how)) return 2;
    return everyone_runs(team, 3) ? WEXITSTATUS(how) : 3;
}
static int run_in_grandchild_alone(ridge_team *team) {
    int how = 0;
    const pid_t child = fork();
    if (child == 0) _exit(run_and_destroy(team));
    return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : 2;
}
#if !SANITIZED_THREADS
/* In place of the C library's: refuses the threads after the first `granted`; -1 refuses none. */
static int granted = -1;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*f)(void *), void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
    if (granted == 0) return EAGAIN;
    if (granted > 0) granted--;
    return real(thread, attributes, f, arg);
}
static int run_with_fewer(ridge_team *team) {
    granted = 1;
    if (ridge_team_size(team) != 2 || !everyone_runs(team, 2)) return 1;
    ridge_team_destroy(team);
    return 7;
}
static int run_alone(ridge_team *team) {
    granted = 0;
    if (!everyone_runs(team, 1) || ridge_team_size(team) != 1) return 1;
    ridge_team_destroy(team);
    return 7;
}
#endif

static void a_child_has_a_team_of_its_own(void **state) {
    static const child_fn children[] = {run_and_destroy, destroy_only, rest_and_run, run_in_grandchild,
                                        run_in_grandchild_alone};
    (void)state;
    if (SANITIZED_THREADS) skip();
    for (int how = 0; how < 3; how++) { /* never used, spinning, asleep */
        ridge_team *team = team_of(3, NULL);
        for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
            calls c = {.size = 0};
            if (how > 0) ridge_team_run(team, count_call, &c);
            if (how > 1) ridge_team_rest(team);
            expect_in_child(team, children[i], 7);
        }
        assert_true(everyone_runs(team, 3)); /* the parent's is as before */
        ridge_team_destroy(team);
    }
}

static void a_child_that_is_refused_threads_has_fewer(void **state) {
    (void)state;
#if SANITIZED_THREADS
    skip();
#else
    ridge_team *team = team_of(3, NULL);
    expect_in_child(team, run_with_fewer, 7);
    expect_in_child(team, run_alone, 7);
    assert_true(everyone_runs(team, 3));
    granted = 1; /* where nothing was forked it is an error */
    ridge_team *none = team;
    ridge_error error;
    assert_int_equal(ridge_team_create(3, NULL, &none, &error), RIDGE_FAILED);
    granted = -1;
    assert_null(none);
    assert_string_equal(error.text, "could not start thread 3 of 3: lower --threads");
    ridge_team_destroy(team);
#endif
}

static void short_piece(void *arg, int rank, int size) {
    (void)arg, (void)size;
    for (volatile int i = 0; i < 200 * (rank + 1); i++) continue;
}
static atomic_bool busy_stop;
static void *keep_busy(void *arg) {
    for (int i = 0; !atomic_load(&busy_stop); i++) {
        ridge_team_run(arg, short_piece, NULL);
        if (i % 8 == 7) ridge_team_rest(arg); /* so that forks meet the mutex and the condition in use, too */
    }
    return NULL;
}

static void a_fork_beside_a_busy_team_is_safe(void **state) {
    (void)state;
    if (SANITIZED_THREADS) skip();
    ridge_team *team = team_of(3, NULL);
    pthread_t other;
    atomic_store(&busy_stop, false);
    assert_int_equal(pthread_create(&other, NULL, keep_busy, team), 0);
    for (int i = 0; i < 60; i++) {
        nap((uint64_t)i);
        expect_in_child(team, i % 3 ? run_and_destroy : destroy_only, 7);
    }
    atomic_store(&busy_stop, true);
    pthread_join(other, NULL);
    assert_true(everyone_runs(team, 3));
    ridge_team_destroy(team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_runs_every_piece_once),
        cmocka_unit_test(more_members_than_processors_work),
        cmocka_unit_test(nothing_is_left_to_destroy_early_or_late),
        cmocka_unit_test(no_team_is_a_team_of_one),
        cmocka_unit_test(senseless_sizes_are_refused),
        cmocka_unit_test(members_are_pinned_and_the_caller_let_go),
        cmocka_unit_test(resting_members_take_no_cycles),
        cmocka_unit_test(shares_cover_each_item_once),
        cmocka_unit_test(small_work_is_the_callers_alone),
        cmocka_unit_test(rows_are_shared_where_that_pays),
        cmocka_unit_test(a_child_has_a_team_of_its_own),
        cmocka_unit_test(a_child_that_is_refused_threads_has_fewer),
        cmocka_unit_test(a_fork_beside_a_busy_team_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
