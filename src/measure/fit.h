/* Time against size as power laws in pieces: t = c n^k, with another k behind each break. Pure functions. */
#ifndef RIDGE_MEASURE_FIT_H
#define RIDGE_MEASURE_FIT_H

#include <stdbool.h>

enum { RIDGE_MAX_PIECES = 4, RIDGE_LEAST_FIT = 4 };

/* One power law, from its first point on. */
typedef struct ridge_power_piece {
    int first, n;    /* points */
    double exponent; /* k */
    double error;    /* half of its interval at RIDGE_LEVEL; infinite where the points are too few */
    double begins;   /* the size at which it begins: of the first piece its first point, of others the break */
} ridge_power_piece;

typedef struct ridge_power_fit {
    ridge_power_piece piece[RIDGE_MAX_PIECES];
    int n;
    double residual; /* root mean square of the points' relative distances from the fit */
} ridge_power_fit;

/* Fits the pieces to points of ascending sizes. The pieces meet at the breaks. There are as many of them as the points
 * are evidence for: a break must pay for what it adds to the fit (BIC, corrected for few points), and distances below
 * 3 % are no evidence. Seven points are the fewest that can show a break. False: fewer than RIDGE_LEAST_FIT points, or
 * sizes that do not ascend, or a size or time that is not positive and finite. */
bool ridge_power_fit_times(const double *size, const double *time, int n, ridge_power_fit *fit);

#endif
