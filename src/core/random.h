/* A counter-based generator: value i of stream `seed` is a pure function of (seed, i). Fills run in parallel, any
 * element can be recomputed, and one number identifies a sample's data. */
#ifndef RIDGE_CORE_RANDOM_H
#define RIDGE_CORE_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__ /* GPUs fill operands with the same numbers */
#define RIDGE_RANDOM_FN static inline __host__ __device__
#else
#define RIDGE_RANDOM_FN static inline
#endif

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014) over the Weyl sequence: passes BigCrush. */
RIDGE_RANDOM_FN uint64_t ridge_random(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1), 53 bits. */
RIDGE_RANDOM_FN double ridge_random_unit(uint64_t seed, uint64_t i) {
    return (double)(ridge_random(seed, i) >> 11) * 0x1p-53;
}

/* A 32-bit generator whose inner loop vectorizes, for fills of gigabytes: value i of a stream is
 * ridge_random32(ridge_random32_key(seed, i / RIDGE_RANDOM_BLOCK), i % RIDGE_RANDOM_BLOCK). The 64-bit key of a block
 * enters a 32-bit finalizer (constants of C. Wellons' lowbias32) twice, so that two blocks with overlapping counters
 * still differ. */
enum { RIDGE_RANDOM_BLOCK = 4096 };

RIDGE_RANDOM_FN uint64_t ridge_random32_key(uint64_t seed, uint64_t block) { return ridge_random(~seed, block); }

RIDGE_RANDOM_FN uint32_t ridge_random32(uint64_t key, uint32_t i) {
    uint32_t x = i * UINT32_C(0x9e3779b9) + (uint32_t)key;
    x = (x ^ (x >> 16)) * UINT32_C(0x7feb352d) ^ (uint32_t)(key >> 32);
    x = (x ^ (x >> 15)) * UINT32_C(0x846ca68b);
    return x ^ (x >> 16);
}

#endif
