/* The parts of the judged process. */
#ifndef RIDGE_JUDGED_JUDGED_H
#define RIDGE_JUDGED_JUDGED_H

#include <stdbool.h>

/* Before foreign code is loaded, on all threads: no processes, threads, tracing, signals to others, timers, scheduling.
 * After: nothing but memory without code, waiting, the clock and the end. Any other call kills the process (SIGSYS). False:
 * the kernel has no seccomp filters. */
bool ridge_lock_before(void);
bool ridge_lock_after(void);

#endif
