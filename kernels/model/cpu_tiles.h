/* The register tile of CPU products, by instruction set: what predicted costs are computed from. */
#ifndef RIDGE_MODEL_CPU_TILES_H
#define RIDGE_MODEL_CPU_TILES_H

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

#endif
