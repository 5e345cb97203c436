/* Runs untrusted code in a child process with limits, and describes how a child ended. */
#ifndef RIDGE_MEASURE_ISOLATE_H
#define RIDGE_MEASURE_ISOLATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ridge/status.h"

typedef struct ridge_child_limits {
    int threads;                              /* for libraries with their own thread pool */
    const int *cpus;                          /* one per thread, or NULL */
    int64_t memory_limit;                     /* bytes the child may map; 0: no limit */
    const volatile sig_atomic_t *interrupted; /* non-zero: the child is killed; may be NULL */
} ridge_child_limits;

/* Call this first in a forked child. The child then dies with its parent, ignores SIGINT, SIGTERM and SIGHUP (the
 * parent handles them), has /dev/null as standard output, dumps no core and is the OOM killer's first choice. OpenMP
 * and OpenBLAS receive their thread counts through the environment before they are loaded. */
void ridge_child_enter(const ridge_child_limits *limits, pid_t parent);

/* Writes "crashed: SIGSEGV (Segmentation fault)", "no return within the limit of 60 s: endless loop?", … */
void ridge_child_describe(int wait_status, bool killed, double limit_s, char *text, size_t size);

/* Runs body(arg, answer) in a child and copies the answer (size bytes) back. RIDGE_FAILED, with the reason: the child
 * died or did not return within limit_s seconds. RIDGE_INTERRUPTED: limits->interrupted became non-zero. */
typedef void (*ridge_isolated_fn)(const void *arg, void *answer);
ridge_status ridge_isolate(ridge_isolated_fn body, const void *arg, void *answer, size_t size,
                           const ridge_child_limits *limits, double limit_s, ridge_error *error);

#endif
