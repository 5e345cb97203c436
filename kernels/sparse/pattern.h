/* 2:4 sparsity: of each four neighbours of a row two are kept, the two largest; which, a code says (model/sparse_codes.h). Of C
 * and CUDA. */
#ifndef RIDGE_KERNELS_SPARSE_PATTERN_H
#define RIDGE_KERNELS_SPARSE_PATTERN_H

#include "model/sparse_codes.h"

/* The code that keeps the two of the largest magnitudes, the earlier of equal ones. A number's bits, without its sign, order
 * magnitudes; all NaNs are alike, and above infinity. */
PATTERN_INLINE unsigned pattern_of(const uint32_t magnitude[4], uint32_t infinity) {
    uint32_t m[4];
    unsigned kept = 0;
    for (int i = 0; i < 4; i++) m[i] = magnitude[i] > infinity ? infinity + 1 : magnitude[i];
    for (int i = 0; i < 4; i++) {
        int ahead = 0;
        for (int j = 0; j < 4; j++) ahead += j < i ? m[j] >= m[i] : m[j] > m[i];
        kept |= (unsigned)(ahead < 2) << i;
    }
    const unsigned first = kept & 1 ? 0 : kept & 2 ? 1 : 2, second = kept & 8 ? 3 : kept & 4 ? 2 : 1;
    return first | second << 2;
}

#endif
