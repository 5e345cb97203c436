/* A job measures one case of one target: it verifies every variant and times them interleaved, in a worker process.
 *
 * The worker runs the kernels and returns samples; the caller derives verdicts and writes reports. A variant that
 * crashes, hangs or exhausts memory fails, and the case continues without it. */
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
    uint64_t seed; /* seed of its inputs */
    double worst;  /* largest error / permitted error in its check */
    int64_t rows_checked;
    ridge_gpu_state gpu; /* GPU: state right after its batch; CPU: all zero */
} ridge_sample;

#define RIDGE_STOP_LIST(X)                                                               \
    X(CONVERGED, "converged") /* every variant's interval is narrow enough: job.noise */ \
    X(TIME, "time-limit")                                                                \
    X(ITERATIONS, "iterations") /* --iterations reached */                               \
    X(ENDED, "ended")           /* wrong, failed or interrupted */
typedef enum ridge_stop {
#define RIDGE_STOP_ENUM(name, text) RIDGE_STOP_##name,
    RIDGE_STOP_LIST(RIDGE_STOP_ENUM)
#undef RIDGE_STOP_ENUM
        RIDGE_STOP_COUNT
} ridge_stop;
const char *ridge_stop_name(ridge_stop stop);

/* Plain loops that move `bytes` bytes (a multiple of 1024) from source to target. All candidates for one kind of
 * traffic; the fastest is used. */
enum { RIDGE_MAX_MOTIONS = 16 };
typedef void (*ridge_motion_fn)(char *target, const char *source, size_t bytes);
typedef struct ridge_motions {
    ridge_motion_fn fn[RIDGE_MAX_MOTIONS];
    int n;
} ridge_motions;

/* The reference: the bandwidth available in the same rounds. For a bandwidth-bound case with cold operands, plain loops
 * move the case's minimum bytes (paired bytes copied, the rest read or written) in every round, on operand sets of the
 * same kind. Kernel time / reference time is a paired ratio, which is insensitive to machine drift. */
typedef struct ridge_reference {
    ridge_motions read, stream, write;
} ridge_reference;

/* Rounds below which a median has no interval, and whole measurements of a case. */
enum { RIDGE_LEAST_ROUNDS = 8, RIDGE_MAX_MEASUREMENTS = 32 };

typedef struct ridge_job {
    const ridge_target *target;
    ridge_case c;
    const int *variants; /* indices into target->variants, in the order of a round */
    int n_variants;
    ridge_backend backend; /* backend of all its variants */
    ridge_isa isa;
    ridge_abilities here;
    int threads;
    const int *cpus; /* one per thread, or NULL: not pinned */
    bool hot;        /* operands in cache; false: sets rotate through three times the last-level cache */
    uint64_t seed;
    double noise;                     /* half of an interval over its median at which rounds end; 0: 0.005 */
    double max_time;                  /* seconds of rounds, the checks of their samples included */
    double patience;                  /* seconds that the first RIDGE_LEAST_ROUNDS rounds may take; at least max_time */
    int iterations;                   /* rounds; 0: the stop rule decides */
    int warmup;                       /* rounds before those: verified, but their times are not kept */
    double last_level;                /* bytes of the largest cache */
    const ridge_user_input *user;     /* n_in entries, or NULL */
    const ridge_reference *reference; /* NULL: none */
    bool emulated;                    /* checks only: an emulated device has no times */
    double launch_limit;              /* seconds after which a launch counts as an endless loop */
    uint64_t ends_ns;                 /* ridge_clock_ns() when the time of the whole run is over; 0: no limit */
    int64_t memory_limit;             /* bytes the worker may map; 0: no limit */
} ridge_job;

typedef enum ridge_outcome {
    RIDGE_OUTCOME_DONE,
    RIDGE_OUTCOME_WRONG,
    RIDGE_OUTCOME_FAILED,
    RIDGE_OUTCOME_SKIPPED,
} ridge_outcome;

/* The result of one variant. */
typedef struct ridge_series {
    ridge_outcome outcome;
    char reason[240]; /* one line; "" if done */
    ridge_sample *samples;
    int n;
    ridge_check check;         /* the first and widest check; `worst` is the maximum over all samples */
    ridge_agreement agreement; /* with the first optimized variant of the job, on identical inputs */
    bool compared;
    int way; /* that ran, counted from 1 in the variant's table; 0: none has. A worker's word: check it */
} ridge_series;

typedef struct ridge_job_result {
    ridge_series *series; /* n_variants, in the order of job->variants */
    int n_series;
    ridge_series reference; /* n = 0: the job has no reference */
    /* CPU, each optimized variant of a case with a reference: time with operands in cache. The same code runs on so few
     * rows that the operands stay in the core's private caches; times are scaled to all rows. GPU: time per launch in a
     * captured graph. */
    ridge_series *companion; /* n_series, some with n = 0 */
    ridge_stop stop;
    bool emulated;         /* as the job's */
    bool cut;              /* a variant was given up since the run's time was short */
    double frame_us;       /* time of an empty launch, measured the same way */
    double graph_frame_us; /* GPU: time per empty launch in a graph; CPU: 0 */
    int rounds;            /* of the last worker */
    double rounds_s;       /* seconds that they took */
    /* Whole measurements that were joined, and the round at which each begins; 0: it is one. */
    int n_measurements, first_round[RIDGE_MAX_MEASUREMENTS];
} ridge_job_result;

/* Called between events with the used fraction of the case's time, 0 … 1, and what has lasted for seconds, such as
 * "preparing cpu/torch_compile, 12 s"; NULL: nothing has. */
typedef void (*ridge_job_progress_fn)(void *arg, double share, const char *doing);

/* Upper bound of a job's memory in bytes, to reject a case that is too large before it starts. */
ridge_status ridge_job_bytes(const ridge_job *job, double *bytes, ridge_error *error);

/* Oracle FLOP of the checks before a job's first round. */
double ridge_job_check_flops(const ridge_job *job);

/* Runs a job. RIDGE_INTERRUPTED: *interrupted (may be NULL) became non-zero; the worker is killed, and `result` keeps
 * the samples received so far. Free `result` in every case. */
ridge_status ridge_job_run(const ridge_job *job, const volatile sig_atomic_t *interrupted,
                           ridge_job_progress_fn progress, void *arg, ridge_job_result *result, ridge_error *error);
/* The result of a job that is not run: every variant is skipped, for that reason. */
ridge_status ridge_job_skip(const ridge_job *job, const char *reason, ridge_job_result *result, ridge_error *error);
/* Appends the samples of another measurement of the same variants on the same case; its rounds are numbered on. What is
 * wrong or failed in one is so in all. One that was skipped adds nothing. Free both in every case. */
ridge_status ridge_job_result_join(ridge_job_result *all, ridge_job_result *more);
void ridge_job_result_free(ridge_job_result *result);

#endif
