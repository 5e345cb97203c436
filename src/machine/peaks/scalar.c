/* Peak loops in portable C, one element at a time. Additions and multiplications have separate chains, because not
 * every processor has a fused multiply-add. An empty assembly statement in each step hides the values from the
 * compiler. */
#include "machine/peaks/peaks.h"

#if defined(__x86_64__)
#define FLOAT_CLASS "x"
#elif defined(__aarch64__)
#define FLOAT_CLASS "w"
#else
#define FLOAT_CLASS "m"
#endif

/* Six chains of additions and six of multiplications cover a latency of four cycles at one of each a cycle. */
#define SPLIT_LOOP(fn, type, class)                                                                           \
    static void fn(void *accumulators, const void *xs, const void *ys, int64_t steps) {                       \
        type *a = accumulators, x = *(const type *)xs, y = *(const type *)ys;                                 \
        type s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3], s4 = a[4], s5 = a[5];                                \
        type p0 = a[6], p1 = a[7], p2 = a[8], p3 = a[9], p4 = a[10], p5 = a[11];                              \
        for (int64_t n = 0; n < steps; n++) {                                                                 \
            s0 += y, p0 *= x, s1 += y, p1 *= x, s2 += y, p2 *= x;                                             \
            s3 += y, p3 *= x, s4 += y, p4 *= x, s5 += y, p5 *= x;                                             \
            __asm__ volatile("" : "+" class(s0), "+" class(s1), "+" class(s2), "+" class(s3), "+" class(s4)); \
            __asm__ volatile("" : "+" class(s5), "+" class(p0), "+" class(p1), "+" class(p2), "+" class(p3)); \
            __asm__ volatile("" : "+" class(p4), "+" class(p5));                                              \
        }                                                                                                     \
        a[0] = s0, a[1] = s1, a[2] = s2, a[3] = s3, a[4] = s4, a[5] = s5;                                     \
        a[6] = p0, a[7] = p1, a[8] = p2, a[9] = p3, a[10] = p4, a[11] = p5;                                   \
    }

SPLIT_LOOP(split_float, float, FLOAT_CLASS)
SPLIT_LOOP(split_double, double, FLOAT_CLASS)

/* Unsigned, because the sums wrap. Fewer chains, because general registers are few. */
static void split_int(void *accumulators, const void *xs, const void *ys, int64_t steps) {
    uint32_t *a = accumulators, x = *(const uint32_t *)xs, y = *(const uint32_t *)ys;
    uint32_t s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3], p0 = a[4], p1 = a[5], p2 = a[6], p3 = a[7];
    for (int64_t n = 0; n < steps; n++) {
        s0 += y, p0 *= x, s1 += y, p1 *= x, s2 += y, p2 *= x, s3 += y, p3 *= x;
        __asm__ volatile("" : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3), "+r"(p0), "+r"(p1), "+r"(p2), "+r"(p3));
    }
    a[0] = s0, a[1] = s1, a[2] = s2, a[3] = s3, a[4] = p0, a[5] = p1, a[6] = p2, a[7] = p3;
}

static const ridge_peak_loop loops[] = {
    {"fp32 scalar", "fp32", "", "6 chains of additions beside 6 of multiplications, one element each", split_float,
     RIDGE_PEAK_F32_SPLIT, 12, 4, 1, 1},
    {"fp64 scalar", "fp64", "", "6 chains of additions beside 6 of multiplications, one element each", split_double,
     RIDGE_PEAK_F64_SPLIT, 12, 8, 1, 1},
    {"int8 scalar", "int8", "", "4 chains of additions beside 4 of multiplications, in 32-bit registers", split_int,
     RIDGE_PEAK_I32_SPLIT, 8, 4, 1, 1},
};

const ridge_peak_loop *ridge_peaks_scalar(int *count) {
    *count = (int)(sizeof loops / sizeof loops[0]);
    return loops;
}

#if !defined(__x86_64__) && !defined(__aarch64__)
const ridge_peak_loop *ridge_peaks_native(int *count) {
    *count = 0;
    return loops;
}
bool ridge_tiles_allowed(void) { return false; }
#endif
