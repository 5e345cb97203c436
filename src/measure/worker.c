/* The parent's side of a job: forks workers, gathers their events, notices crashes and endless loops, and starts
 * another worker without the variant at fault. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "measure/event.h"
#include "measure/isolate.h"

enum { POLL_MS = 200, MAX_VARIANTS = (RIDGE_MAX_SLOTS - 1) / 2 };
/* The harness's own work between launches (filling, a full check) may take this many times a launch's limit. */
static const double harness_patience = 10;

const char *ridge_stop_name(ridge_stop stop) {
    static const char *const names[] = {
#define STOP_NAME(name, text) [RIDGE_STOP_##name] = text,
        RIDGE_STOP_LIST(STOP_NAME)
#undef STOP_NAME
    };
    return (unsigned)stop < RIDGE_STOP_COUNT ? names[stop] : "?";
}

typedef struct worker {
    const ridge_job *job;
    ridge_job_result *result;
    ridge_watch *watch;
    bool excluded[MAX_VARIANTS];
    bool lost, careful; /* see ridge_sampler_io */
    pid_t pid;
    int fd;
    uint64_t began_ns;
    ridge_error *error;
} worker;

/* ---- the child
 * ------------------------------------------------------------------------------------------------------- */

static _Noreturn void child(const worker *w, int fd, pid_t parent) {
    const ridge_child_limits limits = {w->job->threads, w->job->cpus, w->job->memory_limit};
    ridge_child_enter(&limits, parent);
    const ridge_sampler_io io = {.fd = fd, .watch = w->watch, .excluded = w->excluded, .careful = w->careful};
    ridge_sampler_run(w->job, &io);
    _exit(0);
}

static ridge_status start(worker *w) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ridge_fail(w->error, RIDGE_FAILED, "no pipe to a worker process: %s", strerror(errno));
    atomic_store(&w->watch->slot, -1);
    atomic_store(&w->watch->since_ns, ridge_clock_ns());
    pid_t parent = getpid();
    w->pid = fork();
    if (w->pid == 0) {
        close(ends[0]);
        child(w, ends[1], parent);
    }
    close(ends[1]);
    if (w->pid < 0) {
        close(ends[0]);
        return ridge_fail(w->error, RIDGE_FAILED, "could not start a worker process: %s", strerror(errno));
    }
    w->fd = ends[0];
    return RIDGE_OK;
}

/* ---- events
 * ----------------------------------------------------------------------------------------------------------- */

static void set_outcome(ridge_series *series, ridge_outcome outcome, const char *reason) {
    series->outcome = outcome;
    (void)snprintf(series->reason, sizeof series->reason, "%s", reason);
}

static ridge_status add_sample(ridge_series *series, const ridge_event *event) {
    if (series->n % 256 == 0) {
        ridge_sample *more = realloc(series->samples, (size_t)(series->n + 256) * sizeof *more);
        if (!more) return RIDGE_NO_MEMORY;
        series->samples = more;
    }
    series->samples[series->n++] = event->sample;
    if (event->check.worst > series->check.worst) series->check.worst = event->check.worst;
    if (event->check.max_abs_error > series->check.max_abs_error)
        series->check.max_abs_error = event->check.max_abs_error;
    if (event->check.max_rel_error > series->check.max_rel_error)
        series->check.max_rel_error = event->check.max_rel_error;
    return RIDGE_OK;
}

static ridge_series *series_of(ridge_job_result *result, int slot) {
    int n = result->n_series;
    if (slot < 0 || slot > 2 * n) return NULL;
    return slot < n ? &result->series[slot] : slot == n ? &result->reference : &result->companion[slot - n - 1];
}

/* The pipe is written by a process in which untrusted kernels run: a malformed event is dropped. */
static ridge_status take(worker *w, ridge_event *event) {
    event->text[sizeof event->text - 1] = '\0';
    event->check.text[sizeof event->check.text - 1] = '\0';
    ridge_series *series = series_of(w->result, event->slot);
    if (event->magic != RIDGE_EVENT_MAGIC) return RIDGE_OK;
    switch (event->kind) {
        case RIDGE_EVENT_FRAME: w->result->frame_us = event->value; break;
        case RIDGE_EVENT_GRAPH_FRAME: w->result->graph_frame_us = event->value; break;
        case RIDGE_EVENT_LOST: w->lost = true; break;
        case RIDGE_EVENT_STOPPED:
            if (event->stop >= 0 && event->stop < RIDGE_STOP_COUNT) w->result->stop = (ridge_stop)event->stop;
            break;
        case RIDGE_EVENT_BROKEN: return ridge_fail(w->error, RIDGE_NO_MEMORY, "%s", event->text);
        default: break;
    }
    if (!series) return RIDGE_OK;
    switch (event->kind) {
        case RIDGE_EVENT_SKIPPED: set_outcome(series, RIDGE_OUTCOME_SKIPPED, event->text); break;
        case RIDGE_EVENT_FAILED:
            set_outcome(series, RIDGE_OUTCOME_FAILED, event->text);
            if (event->slot < MAX_VARIANTS) w->excluded[event->slot] = true;
            break;
        case RIDGE_EVENT_CHECKED: series->check = event->check; break;
        case RIDGE_EVENT_SAMPLE: return add_sample(series, event);
        case RIDGE_EVENT_WRONG:
            set_outcome(series, RIDGE_OUTCOME_WRONG, event->text);
            series->check = event->check;
            break;
        case RIDGE_EVENT_AGREES:
            series->agreement = event->agreement;
            series->compared = true;
            break;
        default: break;
    }
    return RIDGE_OK;
}

/* Reads one whole event; false at the end of the pipe. */
static bool read_event(int fd, ridge_event *event) {
    char *p = (char *)event;
    size_t left = sizeof *event;
    while (left > 0) {
        ssize_t n = read(fd, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        left -= (size_t)n;
    }
    return true;
}

/* ---- watching
 * ---------------------------------------------------------------------------------------------------------- */

/* True when what runs now has run for too long. */
static bool overdue(const worker *w, int *slot) {
    *slot = atomic_load(&w->watch->slot);
    double limit = w->job->launch_limit * (*slot < 0 ? harness_patience : 1);
    return (double)(ridge_clock_ns() - atomic_load(&w->watch->since_ns)) * 1e-9 > limit;
}

static double share_of_time(const worker *w) {
    double share = (double)(ridge_clock_ns() - w->began_ns) * 1e-9 / w->job->max_time;
    return share < 1 ? share : 1;
}

/* Gathers events until the worker ends, is killed as overdue (*slow then names the slot), or the run is interrupted. */
static ridge_status gather(worker *w, const volatile sig_atomic_t *interrupted, ridge_job_progress_fn progress,
                           void *arg, bool *killed, int *slow) {
    ridge_event event;
    for (;;) {
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        int ready = poll(&p, 1, POLL_MS);
        if (interrupted && *interrupted) return ridge_fail(w->error, RIDGE_INTERRUPTED, "interrupted");
        if (progress) progress(arg, share_of_time(w));
        if (ready > 0) {
            if (!read_event(w->fd, &event)) return RIDGE_OK;
            RIDGE_TRY(take(w, &event));
        } else if (overdue(w, slow)) {
            *killed = true;
            return RIDGE_OK;
        }
    }
}

/* What ended the worker, in words, and the variant to blame for it. */
static void blame(worker *w, int status, bool killed, int slot) {
    char reason[240];
    const char *where = slot >= 0 ? "" : "in the harness, before or after it ran: ";
    char how[160];
    ridge_child_describe(status, killed, w->job->launch_limit, how, sizeof how);
    (void)snprintf(reason, sizeof reason, "%s%s", where, how);
    for (int i = 0; i < w->result->n_series; i++) {
        ridge_series *series = &w->result->series[i];
        if (slot >= 0 && i != slot) continue;
        if (series->outcome != RIDGE_OUTCOME_DONE) continue;
        set_outcome(series, RIDGE_OUTCOME_FAILED, reason);
        w->excluded[i] = true;
    }
}

/* The next worker starts the case anew: what the others had so far goes, so that all samples are of one process. */
static void clear_samples(ridge_job_result *result) {
    for (int i = 0; i < result->n_series; i++)
        if (result->series[i].outcome == RIDGE_OUTCOME_DONE) result->series[i].n = 0;
    for (int i = 0; i < result->n_series; i++) result->companion[i].n = 0;
    result->reference.n = 0;
}

/* One worker from start to end. *again: a variant was excluded, and others remain. */
static ridge_status run_worker(worker *w, const volatile sig_atomic_t *interrupted, ridge_job_progress_fn progress,
                               void *arg, bool *again) {
    *again = w->lost = false;
    RIDGE_TRY(start(w));
    bool killed = false;
    int slow = -1, status = 0;
    ridge_status outcome = gather(w, interrupted, progress, arg, &killed, &slow);
    if (outcome != RIDGE_OK || killed) (void)kill(w->pid, SIGKILL);
    close(w->fd);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (outcome != RIDGE_OK) return outcome;
    if (w->lost && !w->careful) {
        w->careful = *again = true;
        clear_samples(w->result);
        return RIDGE_OK;
    }
    /* The sampler ends between launches: a clean end in the middle of one is a kernel that called exit(0). */
    if (!killed && WIFEXITED(status) && WEXITSTATUS(status) == 0 && atomic_load(&w->watch->slot) < 0) return RIDGE_OK;
    blame(w, status, killed, killed ? slow : atomic_load(&w->watch->slot));
    clear_samples(w->result);
    for (int i = 0; i < w->result->n_series; i++)
        if (w->result->series[i].outcome == RIDGE_OUTCOME_DONE) *again = true;
    return RIDGE_OK;
}

ridge_status ridge_job_run(const ridge_job *job, const volatile sig_atomic_t *interrupted,
                           ridge_job_progress_fn progress, void *arg, ridge_job_result *result, ridge_error *error) {
    memset(result, 0, sizeof *result);
    result->stop = RIDGE_STOP_ENDED;
    if (job->n_variants < 1 || job->n_variants > MAX_VARIANTS)
        return ridge_fail(error, RIDGE_INVALID, "%d variants in one case", job->n_variants);
    result->series = calloc((size_t)job->n_variants, sizeof *result->series);
    result->companion = calloc((size_t)job->n_variants, sizeof *result->companion);
    if (!result->series || !result->companion)
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d variants", job->n_variants);
    result->n_series = job->n_variants;
    worker w = {.job = job, .result = result, .error = error, .began_ns = ridge_clock_ns()};
    w.watch = mmap(NULL, sizeof *w.watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.watch == MAP_FAILED) return ridge_fail(error, RIDGE_NO_MEMORY, "no shared memory for a worker");
    ridge_status status = RIDGE_OK;
    for (bool again = true; again && status == RIDGE_OK;) status = run_worker(&w, interrupted, progress, arg, &again);
    munmap(w.watch, sizeof *w.watch);
    return status;
}

void ridge_job_result_free(ridge_job_result *result) {
    for (int i = 0; result->series && i < result->n_series; i++) free(result->series[i].samples);
    for (int i = 0; result->companion && i < result->n_series; i++) free(result->companion[i].samples);
    free(result->companion);
    free(result->series);
    free(result->reference.samples);
    memset(result, 0, sizeof *result);
}
