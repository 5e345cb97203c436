/* One case of one target, measured: every variant verified and timed, interleaved, in a worker process of its own.
 *
 * The worker runs the kernels and returns samples; the caller judges and writes. A crash, an endless loop or an
 * exhausted memory costs the variant at fault its outcome, and the case goes on without it. */
#ifndef RIDGE_MEASURE_JOB_H
#define RIDGE_MEASURE_JOB_H

#include <signal.h>

#include "device/nvml.h"
#include "verify/check.h"

/* One timed launch. Each round visits every variant of the case twice, forward then backward (A B B A). */
typedef struct ridge_sample {
    int32_t round;
    int32_t visit; /* 0 forward, 1 backward */
    double time_us;
    uint64_t seed; /* of its inputs */
    double worst;  /* largest error / permitted error of its check */
    int64_t rows_checked;
    ridge_gpu_state gpu; /* GPU: right after the batch it was taken in; else all zero */
} ridge_sample;

#define RIDGE_STOP_LIST(X)                                                                \
    X(CONVERGED, "converged") /* every variant's interval is under 0.5 % of its median */ \
    X(TIME, "time-limit")                                                                 \
    X(ITERATIONS, "iterations") /* --iterations reached */                                \
    X(ENDED, "ended")           /* wrong, failed or interrupted */
typedef enum ridge_stop {
#define RIDGE_STOP_ENUM(name, text) RIDGE_STOP_##name,
    RIDGE_STOP_LIST(RIDGE_STOP_ENUM)
#undef RIDGE_STOP_ENUM
        RIDGE_STOP_COUNT
} ridge_stop;
const char *ridge_stop_name(ridge_stop stop);

/* Plain loops over memory, `bytes` bytes (a multiple of 1024) from source to target: the candidates of one motion, of
 * which the fastest is kept. */
enum { RIDGE_MAX_MOTIONS = 16 };
typedef void (*ridge_motion_fn)(char *target, const char *source, size_t bytes);
typedef struct ridge_motions {
    ridge_motion_fn fn[RIDGE_MAX_MOTIONS];
    int n;
} ridge_motions;

/* The reference: what memory gave while the kernels ran. A memory-bound case of cold operands has its least bytes
 * moved by plain loops (copied, the rest read or written) in the same rounds, on operand sets of the same kind. A
 * kernel's time against it is a paired ratio, which a drifting machine does not touch. */
typedef struct ridge_reference {
    ridge_motions read, stream, write;
} ridge_reference;

typedef struct ridge_job {
    const ridge_target *target;
    ridge_case c;
    const int *variants; /* indices into target->variants, in the order of a round */
    int n_variants;
    ridge_backend backend; /* of all its variants */
    ridge_isa isa;
    ridge_abilities here;
    int threads;
    const int *cpus; /* one a thread, or NULL: not pinned */
    bool hot;        /* operands in cache, instead of rotating through three times the last level */
    uint64_t seed;
    double max_time;                  /* seconds for the case, checks included */
    int iterations;                   /* rounds; 0: by the stop rule */
    double last_level;                /* bytes of the largest cache */
    const ridge_user_input *user;     /* n_in entries, or NULL */
    const ridge_reference *reference; /* NULL: none */
    double launch_limit;              /* seconds after which a launch is taken for an endless loop */
    int64_t memory_limit;             /* bytes the worker may map; 0: no limit */
} ridge_job;

typedef enum ridge_outcome {
    RIDGE_OUTCOME_DONE,
    RIDGE_OUTCOME_WRONG,
    RIDGE_OUTCOME_FAILED,
    RIDGE_OUTCOME_SKIPPED,
} ridge_outcome;

/* What became of one variant. */
typedef struct ridge_series {
    ridge_outcome outcome;
    char reason[240]; /* one line; "" when done */
    ridge_sample *samples;
    int n;
    ridge_check check;         /* the first, widest check; `worst` is the worst of all samples' */
    ridge_agreement agreement; /* with the first optimized variant of the job, on identical inputs */
    bool compared;
} ridge_series;

typedef struct ridge_job_result {
    ridge_series *series; /* n_variants, in the order of job->variants */
    int n_series;
    ridge_series reference; /* n = 0: the case was not given one */
    /* CPU, of each optimized variant of a case with a reference: the same code on so few of the rows that its operands
     * stay in the core's own caches. Times are scaled to all rows. What the processor needs when memory costs nothing.
     * GPU: the variant inside a captured graph, time of one launch. */
    ridge_series *companion; /* n_series, some with n = 0 */
    ridge_stop stop;
    double frame_us;       /* an empty launch, timed the same way */
    double graph_frame_us; /* GPU: one of many empty launches inside a graph; else 0 */
    int rounds;
} ridge_job_result;

/* Called between events with the share of the case's time that is used, 0 … 1. */
typedef void (*ridge_job_progress_fn)(void *arg, double share);

/* Bytes a job takes at the most, so that a case too large can be refused before it starts. */
ridge_status ridge_job_bytes(const ridge_job *job, double *bytes, ridge_error *error);

/* RIDGE_INTERRUPTED when *interrupted (may be NULL) became non-zero: the worker is killed, what it had sent stays in
 * result. Free result in every case. */
ridge_status ridge_job_run(const ridge_job *job, const volatile sig_atomic_t *interrupted,
                           ridge_job_progress_fn progress, void *arg, ridge_job_result *result, ridge_error *error);
void ridge_job_result_free(ridge_job_result *result);

#endif
