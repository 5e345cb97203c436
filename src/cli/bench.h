/* What run, compare and roofline share: measure a selection, judge it, and keep the record. */
#ifndef RIDGE_CLI_BENCH_H
#define RIDGE_CLI_BENCH_H

#include "cli/select.h"
#include "record/record.h"

/* Threads asked for, or one a core; RIDGE_INVALID when the machine has fewer. */
ridge_status ridge_bench_threads(const ridge_options *options, const ridge_machine *machine, int *threads,
                                 ridge_error *error);

/* The instruction set asked for, or the best; RIDGE_INVALID when the processor lacks it. */
ridge_status ridge_bench_isa(const ridge_options *options, const ridge_machine *machine, ridge_isa *isa,
                             ridge_error *error);

/* From the cache file, or measured with progress on stderr and kept there. */
ridge_status ridge_bench_ceilings(const ridge_options *options, const ridge_machine *machine, int threads,
                                  ridge_ceilings *ceilings, ridge_error *error);

/* The same of the GPU. RIDGE_UNSUPPORTED, with the reason, where there is none to use. */
ridge_status ridge_bench_gpu_ceilings(const ridge_options *options, const ridge_machine *machine,
                                      ridge_ceilings *ceilings, ridge_error *error);
/* Into the run, when some item is for the GPU and there is one; a note where they cannot be measured. */
void ridge_bench_want_gpu(const ridge_options *options, const ridge_selection *selection, ridge_run *run);

/* Measures every selected case. RIDGE_INTERRUPTED leaves what was finished in run, judged. Free run in every case. */
ridge_status ridge_bench(const ridge_options *options, ridge_selection *selection, ridge_run *run, ridge_error *error);

/* Says what ridge_bench would do, and for how long. */
ridge_status ridge_bench_dry(const ridge_options *options, ridge_selection *selection, ridge_error *error);

/* Makes the output directory and shows that it can be written, before anything is measured. */
ridge_status ridge_bench_check_output(const ridge_options *options, ridge_error *error);

/* run.json and roofline.svg into --output, JSON to --json; names what was written on stderr. */
ridge_status ridge_bench_write(const ridge_options *options, const ridge_run *run, ridge_error *error);

/* RIDGE_EXIT_VERDICT when a verdict is wrong, impossible or failed. */
int ridge_bench_exit(const ridge_run *run);

#endif
