/* Bytes that a GPU's own counters saw cross its memory's pins, through NVIDIA's profiler. */
#ifndef RIDGE_CLI_COUNTERS_H
#define RIDGE_CLI_COUNTERS_H

#include "record/record.h"

/* Profiles one launch of every GPU result that has a time, by `ncu … ridge launch …`, and sets its dram_read and
 * dram_written. Returns how many it could; *why says in one line what the others lacked. */
int ridge_counters_read(ridge_run *run, char *why, int size);

/* Sums of the two metrics over all kernels of ncu's raw CSV page, in bytes. RIDGE_NOT_FOUND when there is no kernel,
 * RIDGE_CORRUPT when a line is not whole, a unit is another, or a value is not a number from 0 to 1e18. */
ridge_status ridge_counters_parse(const char *csv, double *read, double *written, ridge_error *error);

#endif
