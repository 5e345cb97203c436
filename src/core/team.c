/* The team. Helpers wait for a new generation number: first they spin, then they sleep on a condition variable. One
 * atomic increment starts a piece of work and one counter ends it, so a piece takes well under 1 µs of overhead while
 * the helpers are awake.
 *
 * fork() copies a team without its helper threads. An atfork handler counts the forks that led to this process. A team
 * with an older count was staffed in an ancestor and gets new helpers at its first use. The test is one relaxed
 * load. */
#include "ridge/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#elif defined(__aarch64__)
#define relax() __asm__ volatile("yield")
#else
#define relax() ((void)0)
#endif

/* About 200 µs of spinning: longer than the gaps inside one launch, shorter than the gaps between samples. */
enum { SPINS = 4000, LINE = 64 };

typedef struct member {
    ridge_team *team;
    pthread_t thread;
    int rank, cpu;
} member;

struct ridge_team {
    int size;
    unsigned forks;  /* fork count of the process that started the helpers */
    member *members; /* size - 1 helpers, ranks 1 … size-1 */
    bool pinned;
    cpu_set_t caller_before;
    ridge_team_fn body;
    void *arg;
    bool stop;
    _Alignas(LINE) atomic_uint generation;
    _Alignas(LINE) atomic_int working;
    _Alignas(LINE) atomic_int asleep;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

static bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

static unsigned wait_for_work(ridge_team *team, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        unsigned now = atomic_load_explicit(&team->generation, memory_order_acquire);
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->asleep, 1);
    while (atomic_load(&team->generation) == seen) pthread_cond_wait(&team->wake, &team->mutex);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->mutex);
    return atomic_load(&team->generation);
}

static void *helper(void *arg) {
    member *me = arg;
    ridge_team *team = me->team;
    if (me->cpu >= 0) (void)pin(me->cpu);
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_work(team, seen);
        if (team->stop) return NULL;
        team->body(team->arg, me->rank, team->size);
        atomic_fetch_sub_explicit(&team->working, 1, memory_order_release);
    }
}

static void start_generation(ridge_team *team) {
    atomic_fetch_add(&team->generation, 1); /* sequentially consistent: ordered against `asleep` below */
    if (atomic_load(&team->asleep) == 0) return;
    pthread_mutex_lock(&team->mutex);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->mutex);
}

/* ---- helpers and fork() ------------------------------------------------------------------------------------------ */

static atomic_uint forks; /* since the first process that created a team */
static int watch_error;   /* errno of pthread_atfork; 0: forks are counted */

static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }
static void watch_forks(void) { watch_error = pthread_atfork(NULL, NULL, count_fork); }

static bool is_inherited(const ridge_team *team) {
    return team->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

/* Resets to a team of the caller alone. The mutex and the condition are initialized anew, because a thread that does
 * not exist in this process may hold the one or wait for the other. */
static void reset(ridge_team *team) {
    team->size = 1;
    team->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    team->stop = false;
    atomic_store(&team->generation, 0);
    atomic_store(&team->working, 0);
    atomic_store(&team->asleep, 0);
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->wake, NULL);
}

/* Starts helpers until there are `threads` members or a thread cannot start. */
static void start_helpers(ridge_team *team, int threads) {
    for (int rank = 1; rank < threads; rank++) {
        member *m = &team->members[rank - 1];
        if (pthread_create(&m->thread, NULL, helper, m) != 0) return;
        team->size = rank + 1;
    }
}

/* Staffs an inherited team. If fewer helpers can start than in the parent, the team shrinks; the call does not fail. */
static void staff(ridge_team *team) {
    const int threads = team->size;
    reset(team);
    start_helpers(team, threads);
}

static void dismiss_helpers(ridge_team *team) {
    team->stop = true;
    start_generation(team);
    for (int rank = 1; rank < team->size; rank++) pthread_join(team->members[rank - 1].thread, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->mutex);
}

ridge_status ridge_team_create(int threads, const int *cpus, ridge_team **out, ridge_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    if (threads < 1) return ridge_fail(error, RIDGE_INVALID, "a team needs at least one thread, not %d", threads);
    pthread_once(&once, watch_forks);
    ridge_team *team = aligned_alloc(LINE, (sizeof *team + LINE - 1) / LINE * LINE);
    member *members = calloc((size_t)threads, sizeof *members);
    if (!team || !members || watch_error) {
        free(members);
        free(team);
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a team of %d threads", threads);
    }
    memset(team, 0, sizeof *team);
    team->members = members;
    reset(team);
    for (int rank = 1; rank < threads; rank++)
        members[rank - 1] = (member){.team = team, .rank = rank, .cpu = cpus ? cpus[rank] : -1};
    if (cpus && pthread_getaffinity_np(pthread_self(), sizeof team->caller_before, &team->caller_before) == 0)
        team->pinned = pin(cpus[0]);
    start_helpers(team, threads);
    if (team->size < threads) {
        const int refused = team->size + 1;
        ridge_team_destroy(team);
        return ridge_fail(error, RIDGE_FAILED, "could not start thread %d of %d: lower --threads", refused, threads);
    }
    *out = team;
    return RIDGE_OK;
}

void ridge_team_destroy(ridge_team *team) {
    if (!team) return;
    if (!is_inherited(team)) dismiss_helpers(team);
    if (team->pinned) (void)pthread_setaffinity_np(pthread_self(), sizeof team->caller_before, &team->caller_before);
    free(team->members);
    free(team);
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

int ridge_team_size(ridge_team *team) {
    if (!team) return 1;
    if (is_inherited(team)) staff(team);
    return team->size;
}

void ridge_team_run(ridge_team *team, ridge_team_fn body, void *arg) {
    if (ridge_team_size(team) == 1) {
        body(arg, 0, 1);
        return;
    }
    team->body = body;
    team->arg = arg;
    atomic_store_explicit(&team->working, team->size - 1, memory_order_relaxed);
    start_generation(team);
    body(arg, 0, team->size);
    /* A helper may share its core with another thread: after some spins, yield. */
    for (int i = 0; atomic_load_explicit(&team->working, memory_order_acquire) != 0; i++) {
        if (i < SPINS)
            relax();
        else
            sched_yield();
    }
}

void ridge_team_run_sized(ridge_team *team, double bytes, ridge_team_fn body, void *arg) {
    ridge_team_run(bytes < RIDGE_TEAM_ALONE_BYTES ? NULL : team, body, arg);
}

void ridge_team_rest(ridge_team *team) {
    if (!team || is_inherited(team)) return;
    const struct timespec pause = {.tv_nsec = 20000};
    for (int i = 0; i < 1000 && atomic_load(&team->asleep) < team->size - 1; i++) nanosleep(&pause, NULL);
}
