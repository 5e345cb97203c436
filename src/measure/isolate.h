/* Runs untrusted code in a child process: limits, and words for how a child ended. */
#ifndef RIDGE_MEASURE_ISOLATE_H
#define RIDGE_MEASURE_ISOLATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ridge/status.h"

typedef struct ridge_child_limits {
    int threads;                              /* for libraries that bring their own */
    const int *cpus;                          /* one a thread, or NULL */
    int64_t memory_limit;                     /* bytes the child may map; 0: no limit */
    const volatile sig_atomic_t *interrupted; /* set: the child is killed; NULL: nothing interrupts it */
} ridge_child_limits;

/* Called first thing in a forked child: dies with its parent, leaves Ctrl-C and the like to it, prints nothing on
 * standard output, dumps no core, is the first to go when memory runs out, and tells OpenMP and OpenBLAS their threads
 * before they are loaded. */
void ridge_child_enter(const ridge_child_limits *limits, pid_t parent);

/* "crashed: SIGSEGV (Segmentation fault)", "no return within the limit of 60 s: endless loop?", … */
void ridge_child_describe(int wait_status, bool killed, double limit_s, char *text, size_t size);

/* Runs body(arg, answer) in a child and copies the answer (size bytes) back. RIDGE_FAILED with the reason when the
 * child did not return within limit_s seconds or died, RIDGE_INTERRUPTED when limits->interrupted was set. */
typedef void (*ridge_isolated_fn)(const void *arg, void *answer);
ridge_status ridge_isolate(ridge_isolated_fn body, const void *arg, void *answer, size_t size,
                           const ridge_child_limits *limits, double limit_s, ridge_error *error);

#endif
