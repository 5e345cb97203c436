/* Times a function of others without an oracle: alone, on inputs that are new for every launch, with the same inputs a second
 * time for comparison.
 *
 * The function runs in the judged process (foreign.h): outputs are poisoned, some inputs are revealed at the launch, and the
 * clock is the judge's. What it computes is not known here. What can be seen is whether every output was written, nothing
 * beside it, and whether the same inputs give the same bits. */
#ifndef RIDGE_MEASURE_SOLO_H
#define RIDGE_MEASURE_SOLO_H

#include <signal.h>

#include "measure/foreign.h"
#include "ridge/bench.h"

typedef struct ridge_solo {
    const ridge_target *target; /* its name and tensors; no more is read */
    ridge_case c;
    const ridge_channel_argument *arguments;
    int n_arguments;
    int from[RIDGE_MAX_OUTPUTS]; /* input whose values the output has before a launch, + 1; 0: none, it is poisoned */
    const int *cpus;             /* its processor, or NULL */
    double
        last_level; /* bytes of the largest cache: so many times three lie between the fill of a set and its launch */
    uint64_t seed;
    int iterations;                           /* timed launches; 0: by the stop rule */
    double max_time;                          /* seconds of launches once there are the fewest that an interval needs */
    double noise;                             /* half of the interval over the median at which it ends; 0: 0.005 */
    double limit;                             /* seconds of a launch; 0: no limit */
    const volatile sig_atomic_t *interrupted; /* or NULL */
} ridge_solo;

typedef struct ridge_solo_result {
    ridge_verdict verdict; /* ok, wrong, failed, frame-dominated, skipped */
    char reason[240];      /* one line; of an ok one, what is odd about it, or "" */
    double *times;         /* microseconds, in order */
    int n;
    ridge_interval time_us; /* n = 0 unless ridge_verdict_timed(verdict) */
    double frame_us;        /* an empty launch */
} ridge_solo_result;

/* The kernel is that of ridge_foreign_choose. An error says that nothing could be measured: no memory, no process,
 * RIDGE_INTERRUPTED. What the kernel did is a verdict. Free the result in every case. */
ridge_status ridge_solo_run(const ridge_solo *solo, ridge_solo_result *result, ridge_error *error);
void ridge_solo_result_free(ridge_solo_result *result);

/* Bytes of memory that it takes. */
ridge_status ridge_solo_bytes(const ridge_solo *solo, double *bytes, ridge_error *error);

#endif
