/* The parts of a run, shared by the files of this folder. */
#ifndef RIDGE_LAB_RUN_PARTS_H
#define RIDGE_LAB_RUN_PARTS_H

#include "lab/lab.h"
#include "machine/survey/survey.h"

/* A run in progress. */
typedef struct ridge_lab {
    const ridge_lab_plan *plan;
    const ridge_lab_watch *watch;
    ridge_run *run; /* its budget has a case for each item */
    ridge_isa isa;
    uint64_t began_ns;
    ridge_probe probe;
    double probe_s;            /* that the first probe took; 0: there was none yet */
    ridge_reference reference; /* of CPU cases */
    int n_jobs;                /* every item as often as it is measured: all of them, then all again */
    ridge_job *jobs;
    ridge_job_result *done;
} ridge_lab;

/* What a plan that leaves them 0 gets. */
#define RIDGE_LAB_MAX_TIME_S 2.0
#define RIDGE_LAB_NOISE 0.005
#define RIDGE_LAB_LAUNCH_LIMIT_S 60.0

/* Seconds beside the cases, for estimates: to measure the ceilings, to probe them, and to write the results. */
#define RIDGE_LAB_CEILINGS_S 10.0
#define RIDGE_LAB_PROBE_S 1.0
#define RIDGE_LAB_CLOSING_S 2.0

/* Sets up run's machine and settings and the rest of the lab. Free with ridge_lab_close in every case. */
ridge_status ridge_lab_open(ridge_lab *lab, const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                            ridge_error *error);
void ridge_lab_close(ridge_lab *lab);

/* Seconds that the end of the run takes: the second probe, and the files. */
double ridge_lab_closing_s(const ridge_lab *lab);

/* Makes the jobs and the run's budget. RIDGE_INVALID: a case is larger than the machine's memory. */
ridge_status ridge_lab_make_jobs(ridge_lab *lab, ridge_error *error);

/* Runs the jobs within the budget. *finished: that many jobs, from the first on, have a result. */
ridge_status ridge_lab_run_jobs(ridge_lab *lab, int *finished, ridge_error *error);

/* How often a plan measures each item. */
int ridge_lab_repeat(const ridge_lab_plan *plan);

/* Joins the measurements of each item among the first n jobs, and adds their results and pairs to the run. */
ridge_status ridge_lab_judge_jobs(ridge_lab *lab, int n, ridge_error *error);

bool ridge_lab_uses(const ridge_lab_plan *plan, ridge_backend backend);
/* Ceilings of the backends that the plan uses. A GPU without them is a note, not an error. */
ridge_status ridge_lab_find_ceilings(ridge_lab *lab, ridge_error *error);
/* A ceiling is a rate that was reached: the best of the cached rate and the probes before and after the run. */
void ridge_lab_raise_ceilings(ridge_run *run);

void ridge_lab_tell(const ridge_lab_watch *watch, const ridge_lab_event *event);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void
ridge_lab_note(const ridge_lab_watch *watch, const char *format, ...);
bool ridge_lab_interrupted(const ridge_lab_watch *watch);

#endif
