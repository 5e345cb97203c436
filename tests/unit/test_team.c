/* The team: everyone runs once and all are seen to finish, awake or asleep, however many there are. Runs under TSan. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/random.h"
#include "ridge/team.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
