/* What the oracles of layer and RMS norm make of a weight. Of C alone. */
#ifndef RIDGE_MODEL_NORM_WEIGHT_H
#define RIDGE_MODEL_NORM_WEIGHT_H

#include <float.h>
#include <math.h>

#include "ridge/target.h"

/* value gamma + beta, of a normalized value that a kernel knows within `error`. An infinite gamma makes an infinity of
 * the value's sign, and NaN of 0; within its error, or where fp32 underflows, the value may be either. */
static inline double norm_weighted(double value, double error, double gamma, double beta) {
    const double unsure = error + (value != 0 ? (double)FLT_MIN : 0);
    if (isinf(gamma) && !isnan(beta) && fabs(value) < unsure) return RIDGE_UNDECIDED;
    return value * gamma + beta;
}

#endif
