/* One peak loop. The including file defines
 *
 *   PEAK(name)          the name of the function
 *   PEAK_TARGET         the attribute that allows its instructions, or nothing
 *   PEAK_VECTOR         type of an accumulator
 *   PEAK_CHAINS(STEP)   STEP(0) STEP(1) …: one for each accumulator
 *   PEAK_STEP(i)        an assembly statement that multiplies and adds into a##i from x and y
 *
 * The loop is in assembly, because a compiler may simplify what it understands. */

PEAK_TARGET static void PEAK(run)(void *accumulators, const void *xs, const void *ys, int64_t steps) {
    PEAK_VECTOR *a = accumulators;
    PEAK_VECTOR x = *(const PEAK_VECTOR *)xs, y = *(const PEAK_VECTOR *)ys;
    (void)x, (void)y;
#define PEAK_TAKE(i) PEAK_VECTOR a##i = a[i];
    PEAK_CHAINS(PEAK_TAKE)
#undef PEAK_TAKE
    for (int64_t n = 0; n < steps; n++) {
        PEAK_CHAINS(PEAK_STEP)
    }
#define PEAK_GIVE(i) a[i] = a##i;
    PEAK_CHAINS(PEAK_GIVE)
#undef PEAK_GIVE
}

#undef PEAK
#undef PEAK_TARGET
#undef PEAK_VECTOR
#undef PEAK_CHAINS
#undef PEAK_STEP
