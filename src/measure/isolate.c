#include "measure/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"

static void set_thread_environment(const ridge_child_limits *limits) {
    char text[32];
    (void)snprintf(text, sizeof text, "%d", limits->threads);
    (void)setenv("OMP_NUM_THREADS", text, 1);
    (void)setenv("OPENBLAS_NUM_THREADS", text, 1);
    if (limits->cpus) {
        char places[4096] = "";
        size_t n = 0;
        for (int i = 0; i < limits->threads && n + 16 < sizeof places; i++)
            n += (size_t)snprintf(places + n, sizeof places - n, "%s{%d}", i ? "," : "", limits->cpus[i]);
        (void)setenv("OMP_PLACES", places, 1);
        (void)setenv("OMP_PROC_BIND", "true", 1);
    }
    /* OpenMP threads spin as long as the team's helpers. The sampler waits longer before another thread pool runs. */
    (void)setenv("GOMP_SPINCOUNT", "100000", 1);
    (void)setenv("OPENBLAS_THREAD_TIMEOUT", "18", 1); /* 2^18 cycles */
}

static void limit_memory(const ridge_child_limits *limits) {
#ifndef RIDGE_SANITIZED /* shadow memory takes terabytes of addresses */
    if (limits->memory_limit > 0) {
        const struct rlimit limit = {(rlim_t)limits->memory_limit, (rlim_t)limits->memory_limit};
        (void)setrlimit(RLIMIT_AS, &limit);
    }
#else
    (void)limits;
#endif
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    /* The OOM killer kills the worker first, so that the run continues. */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "1000", 4) != 4) (void)0;
        close(fd);
    }
}

void ridge_child_enter(const ridge_child_limits *limits, pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    /* These signals reach the whole process group. The parent handles them and kills the child. */
    static const int left_to_parent[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof left_to_parent / sizeof left_to_parent[0]; i++)
        (void)signal(left_to_parent[i], SIG_IGN);
    /* Default handlers: a crash ends this process, and the wait status holds the signal. */
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGXFSZ};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) (void)signal(fatal[i], SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) (void)dup2(null, STDOUT_FILENO);
    set_thread_environment(limits);
    limit_memory(limits);
}

void ridge_child_describe(int wait_status, bool killed, double limit_s, char *text, size_t size) {
    if (killed)
        (void)snprintf(text, size, "no return within the limit of %g s: endless loop?", limit_s);
    else if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)
        (void)snprintf(text, size, "killed (SIGKILL): out of memory?");
    else if (WIFSIGNALED(wait_status))
        (void)snprintf(text, size, "crashed: SIG%s (%s)", sigabbrev_np(WTERMSIG(wait_status)),
                       strsignal(WTERMSIG(wait_status)));
    else
        (void)snprintf(text, size, "ended its process with status %d", WEXITSTATUS(wait_status));
}

typedef enum ending { ENDED, OVERDUE, INTERRUPTED } ending;

static int kill_and_wait(pid_t pid) {
    int status = 0;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

/* Waits at most limit_s seconds for the child, then kills it. An interrupt takes precedence over the child's own end,
 * which the same signal may have caused. */
static ending wait_for(pid_t pid, double limit_s, const volatile sig_atomic_t *interrupted, int *status) {
    uint64_t began = ridge_clock_ns();
    for (long pause_ns = 50000;; pause_ns = pause_ns < 5000000 ? 2 * pause_ns : pause_ns) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        bool stop = interrupted && *interrupted;
        /* If SIGCHLD is ignored, the child's status is lost (ECHILD). Shared memory says whether the body returned. */
        if (ended == pid || (ended < 0 && errno == ECHILD)) return stop ? INTERRUPTED : ENDED;
        if (stop || ridge_seconds_since(began) > limit_s) {
            *status = kill_and_wait(pid);
            return stop ? INTERRUPTED : OVERDUE;
        }
        const struct timespec pause = {.tv_nsec = pause_ns};
        nanosleep(&pause, NULL);
    }
}

ridge_status ridge_isolate(ridge_isolated_fn body, const void *arg, void *answer, size_t size,
                           const ridge_child_limits *limits, double limit_s, ridge_error *error) {
    /* The byte after the answer is set when the body returns, because a kernel may call exit(0) within the body. */
    unsigned char *shared = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return ridge_fail(error, RIDGE_NO_MEMORY, "no shared memory for a worker");
    memcpy(shared, answer, size);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        ridge_child_enter(limits, parent);
        body(arg, shared);
        shared[size] = 1;
        _exit(0);
    }
    ridge_status status = RIDGE_OK;
    if (pid < 0) {
        status = ridge_fail(error, RIDGE_IO, "could not start a worker process: %s", strerror(errno));
    } else {
        int code = 0;
        ending end = wait_for(pid, limit_s, limits->interrupted, &code);
        char how[160];
        ridge_child_describe(code, end == OVERDUE, limit_s, how, sizeof how);
        if (end == INTERRUPTED)
            status = ridge_fail(error, RIDGE_INTERRUPTED, "interrupted");
        else if (end == OVERDUE || !WIFEXITED(code) || WEXITSTATUS(code) != 0 || !shared[size])
            status = ridge_fail(error, RIDGE_FAILED, "%s", how);
        else
            memcpy(answer, shared, size);
    }
    munmap(shared, size + 1);
    return status;
}
