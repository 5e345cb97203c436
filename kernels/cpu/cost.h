/* What predicted costs on a CPU are computed from: the register tile of an instruction set, and the machine's ceilings.
 *
 * A core's work is counted in beats. A beat is the time of two vector multiply-adds at this machine's ceiling: a cycle
 * where two of them start in each. So a cost is a share of the ceilings, and no prediction exceeds them. */
#ifndef RIDGE_KERNELS_CPU_COST_H
#define RIDGE_KERNELS_CPU_COST_H

#include "ridge/target.h"

/* Floats in a vector, of which a tile is two wide; rows at most. */
typedef struct cpu_tile {
    int lanes, rows;
} cpu_tile;

static inline cpu_tile cpu_tile_of(ridge_isa isa) {
    static const cpu_tile tiles[RIDGE_ISA_COUNT] = {
        [RIDGE_ISA_scalar] = {1, 4},
#if defined(__x86_64__)
        [RIDGE_ISA_avx2] = {8, 6},
        [RIDGE_ISA_avx512] = {16, 14},
#elif defined(__aarch64__)
        [RIDGE_ISA_neon] = {4, 12},
#endif
    };
    return tiles[isa];
}

/* Beats until a sleeping team works. */
static const double cpu_wake = 6400;

/* Microseconds of a thread that works for some beats and reads and writes some floats in memory. */
static inline double cpu_cost_of(const ridge_abilities *here, double beats, double floats) {
    const ridge_rates rates = here->rates.flops > 0 ? here->rates : ridge_rates_estimate(here->isa);
    return beats * 4 * cpu_tile_of(here->isa).lanes / rates.flops + 4 * floats / rates.bytes;
}

#endif
