/* What the GPU's hardware counters say of a run's results, read through NVIDIA's profiler. */
#ifndef RIDGE_CLI_COUNTERS_H
#define RIDGE_CLI_COUNTERS_H

#include "record/record.h"

/* Profiles one launch of every timed GPU result with `ncu … ridge launch …` and sets its dram_read and dram_written; with
 * `kernels` also run->profiles, what each kernel did. *why: one line with the reason for those that were not counted. */
void ridge_counters_read(ridge_run *run, bool kernels, char *why, int size);

/* Sums of the two metrics over all kernels of ncu's raw CSV page, in bytes. RIDGE_NOT_FOUND when there is no kernel,
 * RIDGE_CORRUPT when a line is incomplete, a unit is unknown, or a value is not a number from 0 to 1e18. */
ridge_status ridge_counters_parse(const char *csv, double *read, double *written, ridge_error *error);

#endif
