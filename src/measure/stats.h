/* Statistics of timings: medians, order-statistic and bootstrap intervals, paired ratios, and the stop rule. Pure
 * functions, deterministic for a seed. All intervals are at RIDGE_LEVEL confidence. */
#ifndef RIDGE_MEASURE_STATS_H
#define RIDGE_MEASURE_STATS_H

#include "ridge/bench.h"

#define RIDGE_LEVEL 0.99

double ridge_median(const double *x, int n); /* NaN for n == 0 */

/* Median with its distribution-free (binomial order statistic) interval. */
ridge_interval ridge_median_interval(const double *x, int n);

/* Paired ratio a/b. a and b hold one value per round, the mean of the round's two visits, so that a linear drift
 * cancels. Returns the median of a[i]/b[i] and its percentile-bootstrap interval over rounds. */
ridge_interval ridge_ratio_interval(const double *a, const double *b, int n, uint64_t seed);

/* Geometric mean of the n values with Student's interval of their logarithms: what whole measurements, repeated, say of
 * the next one's mean. NaN bounds below two values. */
ridge_interval ridge_mean_interval(const double *x, int n);

/* Quantile of Student's t that bounds a symmetric interval at RIDGE_LEVEL; infinite below one degree of freedom. */
double ridge_student(int degrees);

/* Half width of the interval / median; +inf if not known. */
double ridge_interval_width(ridge_interval interval);

/* A ratio interval that excludes 1 shows a difference. */
bool ridge_interval_excludes(ridge_interval interval, double value);

#endif
