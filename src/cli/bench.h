/* Shared by run, compare and roofline: measures a selection, judges it, and writes the record. */
#ifndef RIDGE_CLI_BENCH_H
#define RIDGE_CLI_BENCH_H

#include "cli/select.h"
#include "record/record.h"

/* Requested number of threads, or one per core; RIDGE_INVALID when the machine has fewer. */
ridge_status ridge_bench_threads(const ridge_options *options, const ridge_machine *machine, int *threads,
                                 ridge_error *error);

/* Requested instruction set, or the best; RIDGE_INVALID when the CPU lacks it. */
ridge_status ridge_bench_isa(const ridge_options *options, const ridge_machine *machine, ridge_isa *isa,
                             ridge_error *error);

/* Reads ceilings from the cache file, or measures them with progress on stderr and writes the file. */
ridge_status ridge_bench_ceilings(const ridge_options *options, const ridge_machine *machine, int threads,
                                  ridge_ceilings *ceilings, ridge_error *error);

/* The same for the GPU. RIDGE_UNSUPPORTED, with the reason, without a usable GPU. */
ridge_status ridge_bench_gpu_ceilings(const ridge_options *options, const ridge_machine *machine,
                                      ridge_ceilings *ceilings, ridge_error *error);
/* Sets the run's GPU ceilings if an item is for the GPU and there is one. Prints a note if they cannot be measured. */
void ridge_bench_want_gpu(const ridge_options *options, const ridge_selection *selection, ridge_run *run);

/* Measures every selected case. After RIDGE_INTERRUPTED, run has the finished cases, judged. The caller frees run in
 * every case. */
ridge_status ridge_bench(const ridge_options *options, ridge_selection *selection, ridge_run *run, ridge_error *error);

/* Prints what ridge_bench would measure and the estimated time. */
ridge_status ridge_bench_dry(const ridge_options *options, ridge_selection *selection, ridge_error *error);

/* Creates the output directory and checks that it is writable, before measurements. */
ridge_status ridge_bench_check_output(const ridge_options *options, ridge_error *error);

/* Writes run.json and roofline.svg to --output, JSON to --json; lists the written files on stderr. */
ridge_status ridge_bench_write(const ridge_options *options, const ridge_run *run, ridge_error *error);

/* RIDGE_EXIT_VERDICT when a verdict is wrong, impossible or failed. */
int ridge_bench_exit(const ridge_run *run);

#endif
