/* NVIDIA's profiler (ncu), run on `ridge launch`, and its table of raw metrics. */
#ifndef RIDGE_CLI_NCU_H
#define RIDGE_CLI_NCU_H

#include <stdbool.h>

#include "ridge/target.h"

/* A column of the table. */
typedef struct ridge_ncu_metric {
    const char *name;
    const char *unit; /* what its numbers must be in; NULL: any */
    bool optional;    /* NaN where the table has no such column or "n/a" */
} ridge_ncu_metric;

enum { RIDGE_NCU_MOST_METRICS = 64, RIDGE_NCU_MOST_TEXT = 1 << 20 };

/* Calls act(context, kernel's name, n values) for each kernel of ncu's raw CSV page, in order. RIDGE_NOT_FOUND when there
 * is none, RIDGE_CORRUPT when a line is incomplete, a unit is another, or a value is not a number from 0 to 1e18; or what
 * act returns. */
typedef ridge_status (*ridge_ncu_fn)(void *context, const char *kernel, const double *values, ridge_error *error);
ridge_status ridge_ncu_parse(const char *csv, const ridge_ncu_metric *metrics, int n, ridge_ncu_fn act, void *context,
                             ridge_error *error);

/* Runs `ncu WHAT… ridge launch` of one variant on one case. what: ncu's own arguments, NULL at the end. Its output is in
 * text, of RIDGE_NCU_MOST_TEXT bytes. False, with a line in `why`: it cannot be run, failed or was interrupted. */
bool ridge_ncu_run(const char *const *what, const ridge_target *target, const ridge_case *c, const char *variant,
                   char *text, char *why, int size);

#endif
