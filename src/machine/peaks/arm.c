/* Peak loops of AArch64: fmla in 128-bit vectors, and the dot-product and matrix instructions for bf16 and int8. */
#include "machine/peaks/chains.h"
#include "machine/peaks/peaks.h"

#if defined(__aarch64__)

typedef float quad __attribute__((vector_size(16), may_alias));

#if defined(__clang__)
#define ARM_TARGET(extension) __attribute__((target(extension)))
#else
#define ARM_TARGET(extension) __attribute__((target("arch=armv8.2-a+" extension)))
#endif
#define NEON_STEP(i, text) __asm__ volatile(text : "+w"(a##i) : "w"(x), "w"(y));

#define PEAK(name) neon_ps_##name
#define PEAK_TARGET
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "fmla %0.4s, %1.4s, %2.4s")
#include "machine/peaks/loop.h"

#define PEAK(name) neon_pd_##name
#define PEAK_TARGET
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "fmla %0.2d, %1.2d, %2.2d")
#include "machine/peaks/loop.h"

#define PEAK(name) bfdot_##name
#define PEAK_TARGET ARM_TARGET("bf16")
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "bfdot %0.4s, %1.8h, %2.8h")
#include "machine/peaks/loop.h"

#define PEAK(name) bfmmla_##name
#define PEAK_TARGET ARM_TARGET("bf16")
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "bfmmla %0.4s, %1.8h, %2.8h")
#include "machine/peaks/loop.h"

#define PEAK(name) sdot_##name
#define PEAK_TARGET ARM_TARGET("dotprod")
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "sdot %0.4s, %1.16b, %2.16b")
#include "machine/peaks/loop.h"

#define PEAK(name) smmla_##name
#define PEAK_TARGET ARM_TARGET("i8mm")
#define PEAK_VECTOR quad
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) NEON_STEP(i, "smmla %0.4s, %1.16b, %2.16b")
#include "machine/peaks/loop.h"

static const ridge_peak_loop loops[] = {
    {"fp32 neon", "fp32", "neon", "20 independent accumulators, fmla", neon_ps_run, RIDGE_PEAK_F32, 20, 16, 4, 1},
    {"fp64 neon", "fp64", "neon", "20 independent accumulators, fmla", neon_pd_run, RIDGE_PEAK_F64, 20, 16, 2, 1},
    {"bf16 bfdot", "bf16", "bf16", "20 independent accumulators, bfdot", bfdot_run, RIDGE_PEAK_BF16, 20, 16, 4, 2},
    {"bf16 bfmmla", "bf16", "bf16", "20 independent accumulators, bfmmla", bfmmla_run, RIDGE_PEAK_BF16, 20, 16, 4, 4},
    {"int8 sdot", "int8", "dotprod", "20 independent accumulators, sdot", sdot_run, RIDGE_PEAK_I8_I32, 20, 16, 4, 4},
    {"int8 smmla", "int8", "i8mm", "20 independent accumulators, smmla", smmla_run, RIDGE_PEAK_I8_I32, 20, 16, 4, 8},
};

const ridge_peak_loop *ridge_peaks_native(int *count) {
    *count = (int)(sizeof loops / sizeof loops[0]);
    return loops;
}
bool ridge_tiles_allowed(void) { return false; }

#endif
