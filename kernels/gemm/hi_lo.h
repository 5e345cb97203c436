/* The plan of an fp32 product on tensor cores: A and B as hi and lo parts in fp16 with a power of two for each row of A
 * and each column of B (cuda/gemm/split.cuh), three products of parts for one, sums of two slices of K added in fp32.
 *
 * Products in tf32 have the hi parts alone: fp16's 11 bits are tf32's, the scales give them its range, and a product of fp16
 * takes half the time of one of tf32, in any order and at any alignment of A and B.
 *
 * A launch makes the parts, whichever way and at whatever address A and B lie; one multiplies. An infinity has no lo part, so behind them stands a product by multiply-adds that runs where there is one. */
#ifndef RIDGE_GEMM_HI_LO_H
#define RIDGE_GEMM_HI_LO_H

#include <stddef.h>

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* As GEMM_HI_LO_TILES, of one product, for tf32. rate: that of 16 bits (tiles.h). */
#define GEMM_HI_TILES(X) X(hi_256, 256, 4, 1, 1, false, 7.0e6, "128 x 256, tf32 as hi parts in fp16: one product")

/* Offsets in scratch. */
typedef struct gemm_hi_lo {
    int shares;               /* of K */
    int64_t padded;           /* elements of a part of a line: whole slices of all shares */
    size_t a, b;              /* lines of a hi and a lo part, or of a hi part: rows of A, columns of B */
    size_t a_undo, b_undo;    /* float: what undoes the scale of each line */
    size_t largest, infinite; /* counters of split.cuh, and whether an operand has an infinity: cleared together */
    size_t bytes;
} gemm_hi_lo;

gemm_hi_lo gemm_hi_lo_of(const gemm_tile *tile, const gemm_problem *g);
ridge_plan gemm_hi_lo_plan_of(const gemm_tile *tile, const gemm_problem *g);
/* Of a way whose `own` is a gemm_tile. */
ridge_plan gemm_hi_lo_plan(const ridge_way *way, const ridge_problem *p);

#endif
