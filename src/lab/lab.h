/* The lab: a whole run as library calls. A plan says what is measured and how. ridge_lab_run reads or measures the
 * ceilings, probes the machine, runs one worker process per case, probes again and judges every sample. The result is
 * the record, a ridge_run. The lab never prints and never ends the process: it reports through a callback.
 *
 *     ridge_lab_item item = {.target = ridge_target_find("fused_l2norm"), .c = {.dim = {4096, 1024}, .dtype =
 * RIDGE_F32}, .variants = {0, 1}, .n_variants = 2}; ridge_lab_plan plan = {.items = &item, .n_items = 1}; ridge_run
 * *run = calloc(1, sizeof *run);                                            about 100 KB ridge_status status =
 * ridge_lab_run(&plan, NULL, run, &error); json_t *record = ridge_json_run(run); ridge_run_free(run);
 *
 * Workers are forked: the calling process must not have initialized CUDA. */
#ifndef RIDGE_LAB_LAB_H
#define RIDGE_LAB_LAB_H

#include <signal.h>

#include "record/record.h"
#include "ridge/tuned.h"

enum { RIDGE_LAB_MAX_VARIANTS = 64 };

/* One case of a target on one backend, and the variants that are measured beside each other. */
typedef struct ridge_lab_item {
    const ridge_target *target;
    ridge_case c;
    ridge_backend backend;                /* of all its variants */
    int variants[RIDGE_LAB_MAX_VARIANTS]; /* indices into target->variants */
    int n_variants;
} ridge_lab_item;

/* What the caller does around each case, outside of its worker and of its time. NULL: nothing. After an error of
 * `before` the case is not measured; after one of `after` its results count. Either ends the run, and its status is
 * that of ridge_lab_run. `after` is called for every case whose `before` succeeded, also after an interruption. */
typedef struct ridge_lab_hooks {
    ridge_status (*before)(void *arg, const ridge_lab_item *item, ridge_error *error);
    ridge_status (*after)(void *arg, const ridge_lab_item *item, ridge_error *error);
    void *arg;
    const char *before_text, *after_text; /* what they do, for the record; NULL: nothing */
} ridge_lab_hooks;

/* All zero but the items: the defaults of `ridge run`. */
typedef struct ridge_lab_plan {
    const ridge_lab_item *items;
    int n_items;
    const ridge_user_input *user; /* inputs of the plan's only target, n_in entries; NULL: random */
    const ridge_machine *machine; /* NULL: detected; not a part of the run */
    int threads;                  /* 0: one per core */
    const char *peers;        /* versions of the libraries whose variants are measured, for the record; NULL: none */
    const ridge_tuned *tuned; /* measured ways come before predicted ones; NULL: none */
    const ridge_isa *isa;     /* instruction set of the CPU kernels; NULL: the best here */
    bool hot;                 /* operands in cache; false: cold */
    bool no_ceilings;         /* only checks are wanted: no ceilings, no probes, no percentages */
    bool refresh;             /* ceilings are measured even if the cache file has them */
    uint64_t seed;            /* first seed of the inputs */
    double max_time;          /* seconds of rounds per case; 0: 2 */
    double noise;             /* half of an interval over its median at which a case ends; 0: 0.005 */
    double within;            /* seconds of the whole run; cases that do not fit are skipped. 0: no limit */
    double launch_limit;      /* seconds after which a launch counts as an endless loop; 0: 60 */
    int iterations;           /* rounds per case; 0: decided by the stop rule */
    int repeat;               /* whole measurements of each case, each in its own processes; 0: 1 */
    int warmup;               /* rounds of each case before those: verified, not timed */
    ridge_lab_hooks hooks;
    uint64_t began_ns; /* ridge_clock_ns() at the start of `within` and wall_s; 0: the call */
    int argc;          /* command line, for the record; 0: none */
    char **argv;
} ridge_lab_plan;

typedef enum ridge_lab_stage {
    RIDGE_LAB_CEILINGS,      /* the measurement of a backend's ceilings starts */
    RIDGE_LAB_CEILINGS_STEP, /* `done` of `total` steps are done; `what` is next */
    RIDGE_LAB_CASES,         /* `total` cases start, `left_s` seconds for them. An interruption now keeps results */
    RIDGE_LAB_CASE,          /* the next case, `what`, starts */
    RIDGE_LAB_SHARE,         /* `share` of the case's time is used; `what` has lasted for seconds, or is NULL */
    RIDGE_LAB_END,           /* what CEILINGS or CASES announced has ended, also after an error */
    RIDGE_LAB_NOTE,          /* `what` is one line: a ceiling that was not read, kept or measured, and why */
} ridge_lab_stage;

typedef struct ridge_lab_event {
    ridge_lab_stage stage;
    int done, total;
    double share;     /* 0 … 1 */
    double left_s;    /* 0: no limit */
    const char *what; /* valid during the call; NULL where the stage has none */
} ridge_lab_event;

/* How a program follows and interrupts a run. A NULL pointer to it, and each member, may be absent. */
typedef struct ridge_lab_watch {
    void (*tell)(void *arg, const ridge_lab_event *event);
    void *arg;
    const volatile sig_atomic_t *interrupted; /* non-zero: the worker is killed and the run ends */
} ridge_lab_watch;

/* Measures every item; with plan->repeat all of them, then all again. Results have the order of the items, then of their
 * variants. A kernel that is wrong, crashes or hangs has a verdict in the record and fails nothing else. Fails before the
 * first case: RIDGE_INVALID (more threads than the machine has, an instruction set that it lacks, a case that is larger
 * than its memory), or a machine or CPU ceilings that cannot be measured. RIDGE_INTERRUPTED, and the error of a hook:
 * run->interrupted is set, and run has the finished cases, judged. Overwrites *run. Free it with ridge_run_free in every
 * case. */
ridge_status ridge_lab_run(const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                           ridge_error *error);

/* Forecasts ridge_lab_run: *seconds for all of it. Nothing is measured. Fills run's machine, settings, ceilings (if the
 * cache file has them) and budget, whose states say which cases fit plan->within. Fails and is freed as above. */
ridge_status ridge_lab_forecast(const ridge_lab_plan *plan, ridge_run *run, double *seconds, ridge_error *error);

/* Results with work and the attainable rate of each item, without times; verdict "skipped". Only ceilings are measured.
 * Fails and is freed as above. */
ridge_status ridge_lab_summarize(const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                                 ridge_error *error);

/* How ceilings are come by. All zero: from the cache file, else measured, and kept there if nothing disturbed that. */
typedef struct ridge_lab_effort {
    bool refresh;   /* measured even if the file has them */
    bool keep;      /* kept even if something disturbed the measurement, or they contradict each other */
    double seconds; /* left for the measurement; RIDGE_INTERRUPTED if it takes longer. 0: no limit */
} ridge_lab_effort;

/* Reads the CPU's ceilings from the cache file, or measures them. */
ridge_status ridge_lab_ceilings(const ridge_machine *machine, int threads, const ridge_lab_effort *effort,
                                const ridge_lab_watch *watch, ridge_ceilings *ceilings, ridge_error *error);
/* The same for the GPU. RIDGE_UNSUPPORTED, with the reason: there is no GPU, or it is emulated. */
ridge_status ridge_lab_gpu_ceilings(const ridge_machine *machine, const ridge_lab_effort *effort,
                                    const ridge_lab_watch *watch, ridge_ceilings *ceilings, ridge_error *error);

#endif
