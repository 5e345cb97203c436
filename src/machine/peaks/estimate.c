/* Rates for predicted costs where no ceilings were measured: by one thread, in about two milliseconds, once in a
 * process. The library has neither files nor the lab's patience. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "machine/identity/machine.h"
#include "machine/peaks/peaks.h"
#include "ridge/target.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { LINE = 64, COLD = 1 << 19, STEPS = 1 << 13, FLOP_BURSTS = 48, READ_BURSTS = 3 };

static ridge_rates estimates[RIDGE_ISA_COUNT];

/* What interrupts a burst can only slow it: the best one counts. */
static double flops_of(const ridge_peak_loop *loop) {
    _Alignas(LINE) static char sums[RIDGE_PEAK_MAX_BYTES];
    _Alignas(LINE) static const char zero[1024];
    const bool split = loop->kind == RIDGE_PEAK_F32_SPLIT;
    const double each = (double)loop->chains * loop->lanes * (split ? 1 : 2);
    double best = 0;
    for (int i = 0; i < FLOP_BURSTS; i++) {
        const uint64_t begin = ridge_clock_ns();
        loop->run(sums, zero, zero, STEPS);
        best = fmax(best, 1e3 * each * STEPS / fmax((double)(ridge_clock_ns() - begin), 1));
    }
    return best;
}

static double best_flops(const ridge_peak_loop *loops, int n, ridge_isa isa) {
    char name[32];
    double best = 0;
    (void)snprintf(name, sizeof name, "fp32 %s", ridge_isa_name(isa));
    for (int i = 0; i < n; i++)
        if (strcmp(loops[i].name, name) == 0 && (!*loops[i].feature || ridge_cpu_has(loops[i].feature)))
            best = fmax(best, flops_of(&loops[i]));
    return best;
}

/* Sends the buffer to memory. An architecture without such an instruction reads from a cache instead, and its
 * predictions are too low by the same amount for all ways. */
static void evict(const char *p) {
#if defined(__x86_64__)
    for (size_t i = 0; i < COLD; i += LINE) _mm_clflush(p + i);
    _mm_mfence();
#elif defined(__aarch64__)
    for (size_t i = 0; i < COLD; i += LINE) __asm__ volatile("dc civac, %0" ::"r"(p + i) : "memory");
    __asm__ volatile("dsb ish" ::: "memory");
#else
    (void)p;
#endif
}

static double read_bytes(void) {
    _Alignas(4096) static char cold[COLD];
    double best = 0;
    memset(cold, 1, sizeof cold); /* pages of its own: all untouched ones are one and the same */
    for (int i = 0; i < READ_BURSTS; i++) {
        evict(cold);
        const uint64_t begin = ridge_clock_ns();
        for (size_t at = 0; at < COLD; at += LINE) (void)*(const volatile char *)(cold + at);
        best = fmax(best, 1e3 * COLD / fmax((double)(ridge_clock_ns() - begin), 1));
    }
    return best;
}

/* Down to a quarter of an octave: most processes of a machine then agree on the rates, and so on the ways. */
static double rounded(double rate) { return exp2(floor(4 * log2(rate)) / 4); }

static void estimate(void) {
    int native, portable;
    const ridge_peak_loop *const natives = ridge_peaks_native(&native), *const scalars = ridge_peaks_scalar(&portable);
    const double bytes = rounded(read_bytes());
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
        const double flops =
            fmax(best_flops(natives, native, (ridge_isa)isa), best_flops(scalars, portable, (ridge_isa)isa));
        /* an instruction set that this processor lacks has no rate, and runs nothing */
        estimates[isa] = (ridge_rates){.flops = flops > 0 ? rounded(flops) : 1, .bytes = bytes};
    }
}

ridge_rates ridge_rates_estimate(ridge_isa isa) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, estimate);
    return estimates[isa];
}
