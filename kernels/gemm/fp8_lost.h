/* What a slice's sum of e4m3 products loses in the tensor cores of Hopper; derived in targets/fp8_gemm/README.md. */
#ifndef RIDGE_GEMM_FP8_LOST_H
#define RIDGE_GEMM_FP8_LOST_H

#include <math.h>

/* A slice's sum keeps 13 bits below its largest term. Of `terms`, for products up to 1. */
static inline double fp8_lost(double terms) {
    const double steps = ceil(terms / 32), largest = fmax(1, 4.0 / 3 * sqrt(terms));
    const double place = ldexp(1, (int)floor(log2(largest)) - 13);
    return place * (1.8 * sqrt((terms + steps) / 3) + steps);
}

#endif
