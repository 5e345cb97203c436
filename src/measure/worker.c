/* The parent's side of a job: forks workers, receives their events, detects crashes and endless loops, and starts
 * another worker without the faulty variant. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "measure/inbox.h"
#include "measure/isolate.h"

enum { POLL_MS = 100, END_POLL_MS = 2, STANDARD_STREAMS = 3 };
/* The harness's work between launches (fill, full check) may take this many times the limit of a launch. */
static const double harness_patience = 10;
/* Where the whole run has a limit: what may be taken beyond it, of the limit that holds without one; and what a variant may
 * always take to be prepared. */
static const double least_patience = 1.0 / 6, least_preparing_s = 1;
static const double worth_telling_s = 2;

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
    ridge_inbox inbox;
    bool careful; /* see ridge_sampler_io */
    pid_t pid;
    int fd;
    uint64_t began_ns;
    ridge_error *error;
} worker;

/* ---- the child --------------------------------------------------------------------------------------------------- */

static _Noreturn void child(const worker *w, int fd, pid_t parent) {
    const ridge_child_limits limits = {
        .threads = w->job->threads, .cpus = w->job->cpus, .memory_limit = w->job->memory_limit};
    ridge_child_enter(&limits, parent);
    const ridge_sampler_io io = {.fd = fd, .watch = w->watch, .excluded = w->inbox.failed, .careful = w->careful};
    ridge_sampler_run(w->job, &io);
    _exit(0);
}

/* SOCK_SEQPACKET preserves packet boundaries: half an event is a short packet, and the next packet is whole. */
static ridge_status connect_worker(worker *w, int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return ridge_fail(w->error, RIDGE_IO, "no socket to a worker process: %s", strerror(errno));
    const int yes = 1;
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
        int why = errno;
        close(ends[0]);
        close(ends[1]);
        return ridge_fail(w->error, RIDGE_IO, "no socket to a worker process: %s", strerror(why));
    }
    /* A worker redirects its standard output to /dev/null, so the socket needs a descriptor above the standard
     * streams. */
    int above = fcntl(ends[1], F_DUPFD_CLOEXEC, STANDARD_STREAMS), code = errno;
    close(ends[1]);
    ends[1] = above;
    if (above >= 0) return RIDGE_OK;
    close(ends[0]);
    return ridge_fail(w->error, RIDGE_IO, "no socket to a worker process: %s", strerror(code));
}

static ridge_status start(worker *w) {
    int ends[2];
    RIDGE_TRY(connect_worker(w, ends));
    atomic_store(&w->watch->slot, -1);
    atomic_store(&w->watch->last, -1);
    atomic_store(&w->watch->preparing, false);
    atomic_store(&w->watch->since_ns, ridge_clock_ns());
    pid_t parent = getpid();
    w->pid = fork();
    if (w->pid == 0) {
        close(ends[0]);
        child(w, ends[1], parent);
    }
    int code = errno;
    close(ends[1]);
    if (w->pid < 0) {
        close(ends[0]);
        return ridge_fail(w->error, RIDGE_IO, "could not start a worker process: %s", strerror(code));
    }
    w->fd = ends[0];
    return RIDGE_OK;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

/* The page is shared with untrusted code: an invalid slot counts as none. */
static int variant_in(const worker *w, atomic_int *slot) {
    int value = atomic_load(slot);
    return value >= 0 && value < w->result->n_series ? value : -1;
}

static int running(const worker *w) { return variant_in(w, &w->watch->slot); }

/* What the worker does, and for how long it may. */
typedef struct doing {
    int slot; /* -1: harness work */
    bool preparing;
    uint64_t since_ns;
    double limit_s;
    bool cut; /* the limit is what is left of the run's time */
} doing;

/* Where the run has a limit, a variant is prepared for half of what is left then: the others need the rest. */
static doing look(const worker *w) {
    doing d = {.slot = running(w), .since_ns = atomic_load(&w->watch->since_ns)};
    d.preparing = d.slot >= 0 && atomic_load(&w->watch->preparing);
    d.limit_s = w->job->launch_limit * (d.slot < 0 ? harness_patience : 1);
    if (!w->job->ends_ns) return d;
    const double left_s = ((double)w->job->ends_ns - (double)d.since_ns) * 1e-9;
    const double share_s = d.preparing ? fmax(left_s / 2, least_preparing_s) : fmax(left_s, least_patience * d.limit_s);
    d.cut = share_s < d.limit_s;
    if (d.cut) d.limit_s = share_s;
    return d;
}

/* The worker may set since_ns at any moment, to a time later than one read before: the time is read after it. */
static bool overdue(const doing *d) { return ridge_seconds_since(d->since_ns) > d->limit_s; }

static const char *name_of(const worker *w, int slot) { return w->job->target->variants[w->job->variants[slot]].name; }

/* What has lasted for seconds; NULL: nothing has. */
static const char *describe(const worker *w, const doing *d, char *text, size_t size) {
    const double seconds = ridge_seconds_since(d->since_ns);
    if (seconds < worth_telling_s) return NULL;
    if (d->slot < 0)
        (void)snprintf(text, size, "operands and checks, %.0f s", seconds);
    else
        (void)snprintf(text, size, "%s %s, %.0f s", d->preparing ? "preparing" : "running", name_of(w, d->slot),
                       seconds);
    return text;
}

static double share_of_time(const worker *w) {
    double share = ridge_seconds_since(w->began_ns) / w->job->max_time;
    return share < 1 ? share : 1;
}

/* How a worker ended. */
typedef struct ending {
    bool killed; /* by the parent: overdue, or its packet stream was malformed */
    doing at;    /* what it did last */
    int status;  /* status of waitpid */
} ending;

/* Receives at most one packet. *end: the socket is closed. */
static ridge_status receive(worker *w, bool *end) {
    char packet[sizeof(ridge_event) + 1]; /* one extra byte detects packets that are too long */
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec data = {packet, sizeof packet};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return RIDGE_OK;
    if (n < 0 || (n == 0 && m.msg_controllen == 0)) { /* an empty packet has credentials, the end of the stream none */
        *end = true;
        return RIDGE_OK;
    }
    return ridge_inbox_take(&w->inbox, packet, (size_t)n, w->error);
}

/* Receives events until the worker has ended, is overdue, has sent a malformed stream, or the run is interrupted. Every
 * iteration tests all of these, because a worker may send endlessly, or close its socket and continue. */
static ridge_status gather(worker *w, const volatile sig_atomic_t *interrupted, ridge_job_progress_fn progress,
                           void *arg, ending *end) {
    char text[120];
    for (bool silent = false, ended = false; !ended;) {
        struct pollfd p = {.fd = silent ? -1 : w->fd, .events = POLLIN};
        int ready = poll(&p, 1, silent ? END_POLL_MS : POLL_MS);
        if (interrupted && *interrupted) return ridge_fail(w->error, RIDGE_INTERRUPTED, "interrupted");
        end->at = look(w);
        if (progress) progress(arg, share_of_time(w), describe(w, &end->at, text, sizeof text));
        if (ready > 0) RIDGE_TRY(receive(w, &silent));
        end->at = look(w);
        end->killed = w->inbox.closed || overdue(&end->at);
        if (end->killed) return RIDGE_OK;
        if (ready <= 0 || silent) {
            pid_t pid = waitpid(w->pid, &end->status, WNOHANG);
            ended = pid == w->pid || (pid < 0 && errno == ECHILD);
            if (ended) w->pid = 0;
        }
    }
    return RIDGE_OK;
}

static void kill_worker(worker *w, int *status) {
    if (w->pid == 0) return;
    (void)kill(w->pid, SIGKILL);
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR) continue;
    w->pid = 0;
}

/* Gives up the faulty variant for that reason, or all remaining variants if it is not known. At least one ends, so the
 * number of workers is bounded. */
static void end_variants(worker *w, int slot, ridge_outcome outcome, const char *reason) {
    if (slot >= 0 && w->result->series[slot].outcome != RIDGE_OUTCOME_DONE) slot = -1;
    for (int i = 0; i < w->result->n_series; i++) {
        ridge_series *series = &w->result->series[i];
        if ((slot >= 0 && i != slot) || series->outcome != RIDGE_OUTCOME_DONE) continue;
        series->outcome = outcome;
        if (outcome == RIDGE_OUTCOME_SKIPPED) series->n = 0;
        (void)snprintf(series->reason, sizeof series->reason, "%s", reason);
        w->inbox.failed[i] = true;
    }
}

static int count_failed(const worker *w) {
    int n = 0;
    for (int i = 0; i < w->result->n_series; i++) n += w->inbox.failed[i];
    return n;
}

static void fail_variants(worker *w, int slot, const char *reason) {
    end_variants(w, slot, RIDGE_OUTCOME_FAILED, reason);
}

/* For want of time, and no fault of its own as far as is known. */
static void skip_variants(worker *w, const doing *at) {
    char reason[240];
    if (at->preparing)
        (void)snprintf(reason, sizeof reason, "not prepared within %.0f s, half of what was left of the run's time",
                       at->limit_s);
    else
        (void)snprintf(reason, sizeof reason, "%s took %.0f s, and the run's time was over",
                       at->slot < 0 ? "an operand or a check" : "a launch", at->limit_s);
    w->result->cut = true;
    end_variants(w, at->slot, RIDGE_OUTCOME_SKIPPED, reason);
}

/* Describes the worker's end and blames a variant. */
static void blame(worker *w, const ending *end) {
    char reason[240], how[160];
    const char *where = end->at.slot >= 0 ? "" : "in the harness, before or after it ran: ";
    if (end->killed && end->at.cut) {
        skip_variants(w, &end->at);
        return;
    }
    ridge_child_describe(end->status, end->killed, w->job->launch_limit, how, sizeof how);
    if (end->killed && end->at.preparing)
        (void)snprintf(reason, sizeof reason, "not prepared within the limit of %g s", end->at.limit_s);
    else
        (void)snprintf(reason, sizeof reason, "%s%s", where, how);
    fail_variants(w, end->at.slot, reason);
}

/* The next worker restarts the case. Earlier samples are discarded, so that all samples come from one process. */
static void clear_samples(ridge_job_result *result) {
    for (int i = 0; i < result->n_series; i++)
        if (result->series[i].outcome == RIDGE_OUTCOME_DONE) result->series[i].n = 0;
    for (int i = 0; i < result->n_series; i++) result->companion[i].n = 0;
    result->reference.n = 0;
}

static bool any_left(const worker *w) {
    for (int i = 0; i < w->result->n_series; i++)
        if (w->result->series[i].outcome == RIDGE_OUTCOME_DONE) return true;
    return false;
}

/* The caller's interrupt flag and progress callback. */
typedef struct watcher {
    const volatile sig_atomic_t *interrupted;
    ridge_job_progress_fn progress;
    void *arg;
} watcher;

/* Runs one worker from start to end. */
static ridge_status run_worker(worker *w, const watcher *by, ending *end) {
    ridge_rotation rotation;
    *end = (ending){.at.slot = -1};
    RIDGE_TRY(ridge_rotation_plan(w->job, &rotation, w->error));
    ridge_inbox_open(&w->inbox, w->job, rotation.sets, w->result);
    RIDGE_TRY(start(w));
    ridge_status outcome = gather(w, by->interrupted, by->progress, by->arg, end);
    kill_worker(w, &end->status);
    close(w->fd);
    return outcome;
}

/* Runs two rounds of each variant alone in a worker. A variant whose stream is then malformed is faulty. */
static ridge_status try_alone(worker *w, const watcher *by, bool *found) {
    const ridge_job *job = w->job;
    ridge_job two_rounds = *job;
    bool failed[RIDGE_MAX_JOB_VARIANTS];
    ridge_status status = RIDGE_OK;
    *found = false;
    two_rounds.iterations = 2;
    w->job = &two_rounds;
    memcpy(failed, w->inbox.failed, sizeof failed);
    for (int i = 0; i < job->n_variants && status == RIDGE_OK; i++) {
        ending end;
        if (w->result->series[i].outcome != RIDGE_OUTCOME_DONE) continue;
        for (int k = 0; k < job->n_variants; k++) w->inbox.failed[k] = k != i;
        status = run_worker(w, by, &end);
        if (status == RIDGE_OK && w->inbox.fault[0]) {
            fail_variants(w, i, w->inbox.fault);
            *found = true;
        }
        failed[i] = w->inbox.failed[i];
    }
    memcpy(w->inbox.failed, failed, sizeof failed);
    w->job = job;
    return status;
}

/* Finds the variant that caused a malformed stream by trying each alone. If none repeats it, the guess is the variant
 * that the stream names, else the running one, else the last launched one: a variant that floods the socket prevents
 * the worker from sending that launch's events. */
static ridge_status settle_fault(worker *w, const watcher *by, const ending *end) {
    char fault[sizeof w->inbox.fault];
    int guess = w->inbox.guilty >= 0 ? w->inbox.guilty : end->at.slot;
    bool found;
    if (guess < 0) guess = variant_in(w, &w->watch->last);
    memcpy(fault, w->inbox.fault, sizeof fault);
    RIDGE_TRY(try_alone(w, by, &found));
    if (!found) fail_variants(w, guess, fault);
    return RIDGE_OK;
}

/* Runs a worker and handles its end. *again: a variant was excluded, and others remain. */
static ridge_status run_once(worker *w, const watcher *by, bool *again) {
    ending end;
    const int failed = count_failed(w);
    *again = false;
    RIDGE_TRY(run_worker(w, by, &end));
    if (w->inbox.lost && !w->careful) {
        w->careful = *again = true;
        clear_samples(w->result);
        return RIDGE_OK;
    }
    /* The sampler ends between launches. A clean exit during a launch means that a kernel called exit(0). */
    if (!end.killed && !w->inbox.fault[0] && WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0 && end.at.slot < 0)
        return RIDGE_OK;
    /* A worker that lost the GPU names the slot and ends; no other variant is blamed. */
    const bool told = end.at.slot >= 0 && w->inbox.failed[end.at.slot] && count_failed(w) > failed;
    if (w->inbox.fault[0])
        RIDGE_TRY(settle_fault(w, by, &end));
    else if (!told)
        blame(w, &end);
    clear_samples(w->result);
    *again = any_left(w);
    return RIDGE_OK;
}

/* Fails variants that have neither failed nor a sample: their events were lost. */
static void fail_unsampled(ridge_job_result *result) {
    for (int i = 0; i < result->n_series; i++) {
        ridge_series *series = &result->series[i];
        if (series->outcome != RIDGE_OUTCOME_DONE || series->n > 0 || result->emulated) continue;
        series->outcome = RIDGE_OUTCOME_FAILED;
        (void)snprintf(series->reason, sizeof series->reason, "its worker ended without a sample");
    }
}

static ridge_status open_result(const ridge_job *job, ridge_job_result *result, ridge_error *error) {
    memset(result, 0, sizeof *result);
    result->stop = RIDGE_STOP_ENDED;
    result->emulated = job->emulated;
    if (job->n_variants < 1 || job->n_variants > RIDGE_MAX_JOB_VARIANTS)
        return ridge_fail(error, RIDGE_INVALID, "%d variants in one case", job->n_variants);
    result->series = calloc((size_t)job->n_variants, sizeof *result->series);
    result->companion = calloc((size_t)job->n_variants, sizeof *result->companion);
    if (!result->series || !result->companion)
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d variants", job->n_variants);
    result->n_series = job->n_variants;
    return RIDGE_OK;
}

ridge_status ridge_job_skip(const ridge_job *job, const char *reason, ridge_job_result *result, ridge_error *error) {
    RIDGE_TRY(open_result(job, result, error));
    for (int i = 0; i < result->n_series; i++) {
        result->series[i].outcome = RIDGE_OUTCOME_SKIPPED;
        (void)snprintf(result->series[i].reason, sizeof result->series[i].reason, "%s", reason);
    }
    return RIDGE_OK;
}

ridge_status ridge_job_run(const ridge_job *job, const volatile sig_atomic_t *interrupted,
                           ridge_job_progress_fn progress, void *arg, ridge_job_result *result, ridge_error *error) {
    RIDGE_TRY(open_result(job, result, error));
    worker w = {.job = job, .result = result, .error = error, .began_ns = ridge_clock_ns()};
    w.watch = mmap(NULL, sizeof *w.watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.watch == MAP_FAILED) return ridge_fail(error, RIDGE_NO_MEMORY, "no shared memory for a worker");
    const watcher by = {interrupted, progress, arg};
    ridge_status status = RIDGE_OK;
    for (bool again = true; again && status == RIDGE_OK;) status = run_once(&w, &by, &again);
    munmap(w.watch, sizeof *w.watch);
    if (status == RIDGE_OK) fail_unsampled(result);
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
