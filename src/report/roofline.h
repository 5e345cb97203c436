/* Contents of a roofline plot, independent of the output: slanted lines, horizontal lines, points, ranges. */
#ifndef RIDGE_REPORT_ROOFLINE_H
#define RIDGE_REPORT_ROOFLINE_H

#include "record/record.h"

typedef struct ridge_roof {
    char name[24]; /* "DRAM stream", "fp32 avx512" */
    double rate;   /* GB/s of a level, GFLOP/s of a peak */
    bool main;     /* DRAM and the fastest fp32 peak: the reference of the run */
} ridge_roof;

typedef struct ridge_point {
    int result;  /* index into run->results */
    int target;  /* index of the target in the plot, from 0 */
    int number;  /* number of the case in the whole plot, from 1 */
    double x, y; /* FLOP/byte, GFLOP/s */
} ridge_point;

typedef struct ridge_roofline {
    const ridge_run *run;
    ridge_backend backend; /* whose results and ceilings */
    int n_levels, n_peaks;
    ridge_roof levels[RIDGE_MAX_LEVELS], peaks[RIDGE_MAX_PEAKS];
    double peak;        /* the main one, GFLOP/s */
    double ridge_point; /* peak / rate of the main level, FLOP/byte */
    int n_points, n_targets, n_cases;
    ridge_point *points;           /* in the order of results */
    double xmin, xmax, ymin, ymax; /* all positive: both axes are logarithmic */
} ridge_roofline;

/* RIDGE_INVALID, with a message, without ceilings. A run without points still has its roof. */
ridge_status ridge_roofline_make(const ridge_run *run, ridge_backend backend, ridge_roofline *roofline,
                                 ridge_error *error);
void ridge_roofline_free(ridge_roofline *roofline);

#endif
