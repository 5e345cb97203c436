/* Statistics of timings. Timings have a hard floor, a long upper tail and outliers, so all results are medians with
 * distribution-free intervals.
 *
 * One sample: order statistics. The number of values below the true median is binomial(n, 1/2), so the interval from
 * the (k+1)-th smallest to the (k+1)-th largest value contains it with probability 1 - 2 P(B <= k) for any
 * distribution.
 *
 * Paired ratio: a circular block bootstrap of the median over rounds. Blocks of neighbouring rounds are drawn together,
 * because consecutive rounds are correlated (clock drift, other processes). Percentile intervals of a median are too
 * narrow for small n, so the result always contains the order-statistic interval of the ratios. Neither exists below 8
 * values: even the full range of 7 values has less than 99 % confidence. */
#include "measure/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/shortage.h"

/* (resamples + 1) * (1 - RIDGE_LEVEL) / 2 is an integer for both, so the percentiles are resampled values. */
enum { RESAMPLES = 1999, RESAMPLES_LARGE = 399, LARGE = 10000 };

typedef struct ranked {
    double value;
    int index;
} ranked;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_rank(const void *a, const void *b) {
    return by_value(&((const ranked *)a)->value, &((const ranked *)b)->value);
}

static bool all_finite(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* NULL: the sample is empty or has a NaN or infinity, or there is no memory. Callers then return no interval. */
static double *sorted_copy(const double *x, int n) {
    if (n <= 0 || !all_finite(x, n)) return NULL;
    double *copy = malloc((size_t)n * sizeof *copy);
    if (!copy) return ridge_shortage_note(), NULL;
    memcpy(copy, x, (size_t)n * sizeof *copy);
    qsort(copy, (size_t)n, sizeof *copy, by_value);
    return copy;
}

static double middle(const double *sorted, int n) { return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]); }

static ridge_interval unknown(int n) {
    return (ridge_interval){.median = (double)NAN, .low = (double)NAN, .high = (double)NAN, .n = n};
}

/* P(B <= k) for B binomial(n, 1/2), summed from the largest term down until nothing is added. */
static double binomial_half_cdf(int n, int k) {
    int sign;
    double log_term = lgamma_r(n + 1.0, &sign) - lgamma_r(k + 1.0, &sign) - lgamma_r(n - k + 1.0, &sign) - n * log(2.0);
    double term = exp(log_term), sum = 0;
    for (int j = k; j >= 0 && sum + term > sum; j--) {
        sum += term;
        term *= j / (n - j + 1.0);
    }
    return sum;
}

/* The largest k for which the interval from the (k+1)-th smallest to the (k+1)-th largest value reaches RIDGE_LEVEL;
 * -1: none. */
static int order_rank(int n) {
    const double tail = (1 - RIDGE_LEVEL) / 2;
    int k = (int)(0.5 * n - 1.3 * sqrt(n)); /* start at the normal approximation */
    if (k < -1) k = -1;
    while (k >= 0 && binomial_half_cdf(n, k) > tail) k--;
    while (k + 1 < n / 2 && binomial_half_cdf(n, k + 1) <= tail) k++;
    return k;
}

static ridge_interval order_interval(const double *sorted, int n) {
    ridge_interval interval = unknown(n);
    interval.median = middle(sorted, n);
    int k = order_rank(n);
    if (k >= 0) {
        interval.low = sorted[k];
        interval.high = sorted[n - 1 - k];
    }
    return interval;
}

double ridge_median(const double *x, int n) {
    double *sorted = sorted_copy(x, n);
    double median = sorted ? middle(sorted, n) : (double)NAN;
    free(sorted);
    return median;
}

ridge_interval ridge_median_interval(const double *x, int n) {
    double *sorted = sorted_copy(x, n);
    ridge_interval interval = sorted ? order_interval(sorted, n) : unknown(n);
    free(sorted);
    return interval;
}

/* The median of one resample. A resample is stored as a count per rank, so its median takes one pass over the ranks:
 * linear in n, without a sort. */
static double resampled_median(const double *sorted, const int *rank, int *count, int n, int block, uint64_t seed) {
    memset(count, 0, (size_t)n * sizeof *count);
    for (int drawn = 0; drawn < n; drawn += block) {
        int at = (int)(ridge_random_unit(seed, (uint64_t)drawn) * n);
        int length = block < n - drawn ? block : n - drawn;
        for (int j = 0; j < length; j++, at++) count[rank[at < n ? at : at - n]]++;
    }
    int lower = (n - 1) / 2, upper = n / 2, below = 0, i = 0;
    while (below + count[i] <= lower) below += count[i++];
    double median = sorted[i];
    while (below + count[i] <= upper) below += count[i++];
    return 0.5 * (median + sorted[i]);
}

/* Widens the interval to the percentiles of resampled medians. False: no memory. */
static bool widen_by_bootstrap(const double *sorted, const int *rank, int n, uint64_t seed, ridge_interval *interval) {
    int resamples = n > LARGE ? RESAMPLES_LARGE : RESAMPLES; /* the noise of a percentile decreases as 1/sqrt(n) */
    int block = (int)lround(cbrt(n)); /* usual block length: longer than the correlation, much shorter than n */
    int *count = malloc((size_t)n * sizeof *count);
    double *medians = malloc((size_t)resamples * sizeof *medians);
    const bool ok = count && medians;
    if (!ok) ridge_shortage_note();
    if (ok) {
        for (int r = 0; r < resamples; r++)
            medians[r] = resampled_median(sorted, rank, count, n, block, ridge_random(seed, (uint64_t)r));
        qsort(medians, (size_t)resamples, sizeof *medians, by_value);
        int tail = (int)lround((resamples + 1) * (1 - RIDGE_LEVEL) / 2); /* 10 of 2000, 2 of 400 */
        interval->low = fmin(interval->low, medians[tail - 1]);
        interval->high = fmax(interval->high, medians[resamples - tail]);
    }
    free(medians);
    free(count);
    return ok;
}

ridge_interval ridge_ratio_interval(const double *a, const double *b, int n, uint64_t seed) {
    ridge_interval interval = unknown(n);
    if (n <= 0) return interval;
    ranked *order = malloc((size_t)n * sizeof *order);
    double *sorted = calloc((size_t)n, sizeof *sorted);
    int *rank = malloc((size_t)n * sizeof *rank);
    if (!order || !sorted || !rank) {
        ridge_shortage_note();
        goto done;
    }
    for (int i = 0; i < n; i++) order[i] = (ranked){.value = a[i] / b[i], .index = i};
    for (int i = 0; i < n; i++)
        if (!(order[i].value > 0) || !isfinite(order[i].value)) goto done; /* not a time: no interval */
    qsort(order, (size_t)n, sizeof *order, by_rank);
    for (int i = 0; i < n; i++) {
        sorted[i] = order[i].value;
        rank[order[i].index] = i;
    }
    ridge_interval found = order_interval(sorted, n);
    if (isnan(found.low) || widen_by_bootstrap(sorted, rank, n, seed, &found)) interval = found;
done:
    free(rank);
    free(sorted);
    free(order);
    return interval;
}

double ridge_student(int degrees) {
    static const double table[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169};
    static const double z = 2.5758293;
    const int rows = (int)(sizeof table / sizeof table[0]);
    if (degrees < 1) return (double)INFINITY;
    if (degrees <= rows) return table[degrees - 1];
    /* Cornish and Fisher's expansion of the quantile around the normal one. */
    const double v = degrees, z2 = z * z;
    return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
           z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

ridge_interval ridge_mean_interval(const double *x, int n) {
    ridge_interval interval = unknown(n);
    double sum = 0, squares = 0, least = (double)INFINITY, most = 0;
    for (int i = 0; i < n; i++) {
        if (!(x[i] > 0) || !isfinite(x[i])) return interval;
        sum += log(x[i]);
        least = fmin(least, x[i]);
        most = fmax(most, x[i]);
    }
    if (n < 1) return interval;
    const double mean = sum / n;
    interval.median = fmin(fmax(exp(mean), least), most); /* exp(log(x)) may be beside x, and a mean is never outside */
    if (n < 2) return interval;
    for (int i = 0; i < n; i++) squares += pow(log(x[i]) - mean, 2);
    const double half = ridge_student(n - 1) * sqrt(squares / (n - 1) / n);
    interval.low = fmin(exp(mean - half), interval.median);
    interval.high = fmax(exp(mean + half), interval.median);
    return interval;
}

double ridge_interval_width(ridge_interval interval) {
    double width = 0.5 * (interval.high - interval.low) / interval.median;
    return width >= 0 ? width : (double)INFINITY; /* NaN bounds, or a median that is not positive */
}

bool ridge_interval_excludes(ridge_interval interval, double value) {
    return interval.low > value || interval.high < value;
}
