/* Words of 2:4 codes, as products and pruning read them. A code is of four neighbours of a row, of which two are kept: 4 bits,
 * the place of the first that is kept and, above it, of the second. A word has those of 32 columns, the first in its lowest
 * bits. Of C and CUDA. */
#ifndef RIDGE_KERNELS_MODEL_SPARSE_CODES_H
#define RIDGE_KERNELS_MODEL_SPARSE_CODES_H

#include <stdint.h>

#ifdef __CUDACC__
#define PATTERN_INLINE __host__ __device__ static inline
#else
#define PATTERN_INLINE static inline
#endif

enum {
    PATTERN_COLUMNS = 32,          /* of a word */
    PATTERN_FIRST_TWO = 0x44444444 /* the word that keeps the first two of each four */
};

PATTERN_INLINE unsigned pattern_code(uint32_t word, int four) { return word >> 4 * four & 15; }
/* The places, among the four, of what a code keeps. */
PATTERN_INLINE int pattern_first(unsigned code) { return (int)(code & 3); }
PATTERN_INLINE int pattern_second(unsigned code) { return (int)(code >> 2); }

/* 0 if in every code the first place is below the second; then the word is of a pattern. Per code, 4 + second - first - 1 is at
 * least 4 if it is, and never negative. */
PATTERN_INLINE uint32_t pattern_wrong(uint32_t word) {
    const uint32_t first = word & 0x33333333u, second = word >> 2 & 0x33333333u;
    return ~((second | 0x44444444u) - first - 0x11111111u) & 0x44444444u;
}

#endif
