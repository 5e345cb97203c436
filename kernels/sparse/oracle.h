/* A row of a 2:4 sparse matrix times a dense one in fp64, for oracles, which get codes as numbers. */
#ifndef RIDGE_KERNELS_SPARSE_ORACLE_H
#define RIDGE_KERNELS_SPARSE_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool pattern_is_whole(const double *words, int64_t n) {
    for (int64_t w = 0; w < n; w++)
        for (int four = 0; four < 8; four++) {
            const unsigned code = (uint32_t)(int32_t)words[w] >> 4 * four & 15;
            if ((code & 3) >= code >> 2) return false;
        }
    return true;
}
/* Of k columns, of which `a` has half. */
static inline double pattern_sum(const double *a, const double *words, const double *b, int64_t k) {
    double sum = 0;
    for (int64_t i = 0; i < k / 2; i++) {
        const unsigned code = (uint32_t)(int32_t)words[i / 16] >> i / 2 % 8 * 4 & 15;
        sum += a[i] * b[i / 2 * 4 + (i % 2 ? code >> 2 : code & 3)];
    }
    return sum;
}

#endif
