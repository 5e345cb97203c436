/* The plan of a product that would leave SMs idle in its last wave of tiles: as many rows or columns of C as fill whole waves
 * go by one tile of tiles.h, the rest by another, which may cut K in shares. */
#ifndef RIDGE_GEMM_WAVES_H
#define RIDGE_GEMM_WAVES_H

#include <stddef.h>

#include "gemm/problem.h"

/* C's first `first` rows, or columns, and the rest; tiles in the order of GEMM_TILES; first 0: no such cut. */
typedef struct gemm_waves {
    bool rows;
    int64_t first;
    int tile, rest;
    size_t bytes; /* of the rest's shares */
    double us;
} gemm_waves;

gemm_waves gemm_waves_of(const gemm_problem *g);
ridge_plan gemm_waves_plan(const ridge_way *way, const ridge_problem *p);

#endif
