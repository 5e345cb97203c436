/* Shared by run, compare and roofline: a selection as a plan for the lab (lab/lab.h), with progress on stderr. */
#ifndef RIDGE_CLI_BENCH_H
#define RIDGE_CLI_BENCH_H

#include "cli/select.h"
#include "lab/lab.h"

/* Requested number of threads, or one per core; RIDGE_INVALID when the machine has fewer. */
ridge_status ridge_bench_threads(const ridge_options *options, const ridge_machine *machine, int *threads,
                                 ridge_error *error);

/* Requested instruction set, or the best; RIDGE_INVALID when the CPU lacks it. */
ridge_status ridge_bench_isa(const ridge_options *options, const ridge_machine *machine, ridge_isa *isa,
                             ridge_error *error);

/* ridge_lab_ceilings and ridge_lab_gpu_ceilings with progress on stderr. */
ridge_status ridge_bench_ceilings(const ridge_options *options, const ridge_machine *machine, int threads,
                                  ridge_ceilings *ceilings, ridge_error *error);
ridge_status ridge_bench_gpu_ceilings(const ridge_options *options, const ridge_machine *machine,
                                      ridge_ceilings *ceilings, ridge_error *error);

/* A plan and what it points to. */
typedef struct ridge_bench_plan {
    ridge_machine machine;
    ridge_isa isa;
    ridge_lab_plan plan;
} ridge_bench_plan;

/* The plan of a selection on this machine. It points into the selection too. */
ridge_status ridge_bench_plan_make(const ridge_options *options, ridge_selection *selection, ridge_bench_plan *plan,
                                   ridge_error *error);

/* Measures every selected case. After RIDGE_INTERRUPTED, run has the finished cases, judged. The caller frees run in
 * every case. */
ridge_status ridge_bench_measure(const ridge_options *options, ridge_selection *selection, ridge_run *run,
                                 ridge_error *error);

/* Work and ceilings of every selected case, without times. The caller frees run in every case. */
ridge_status ridge_bench_summarize(const ridge_options *options, ridge_selection *selection, ridge_run *run,
                                   ridge_error *error);

/* Prints what ridge_bench_measure would measure and the estimated time, and writes it as JSON to --json. */
ridge_status ridge_bench_dry(const ridge_options *options, ridge_selection *selection, ridge_error *error);

/* RIDGE_EXIT_VERDICT when a verdict is wrong, impossible or failed. RIDGE_EXIT_USAGE, with a line on stderr, when all are
 * skipped: what was asked for cannot be had here. */
int ridge_bench_exit(const ridge_run *run);

#endif
