/* The plan of an fp32 or tf32 product on tensor cores: A and B as hi and lo parts in fp16 with a power of two for each row of A
 * and each column of B (cuda/gemm/split.cuh), three products of parts for one, sums of two slices of K added in fp32. tf32 needs the hi parts alone.
 *
 * A launch makes the parts, whichever way and at whatever address A and B lie; one multiplies; of shares of K one more
 * adds. An infinity has no lo part, so behind them stands a product by multiply-adds that runs where there is one. */
#ifndef RIDGE_GEMM_HI_LO_H
#define RIDGE_GEMM_HI_LO_H

#include <stddef.h>

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Offsets in scratch. */
typedef struct gemm_hi_lo {
    int shares;               /* of K */
    int64_t padded;           /* elements of a part of a line: whole slices of all shares */
    size_t a, b;              /* lines of a hi and a lo part, or a hi part: rows of A, columns of B */
    size_t a_undo, b_undo;    /* float: what undoes the scale of each line */
    size_t largest, infinite; /* counters of split.cuh, and whether an operand has an infinity: cleared together */
    size_t sums;              /* float: of the shares, where there are several */
    size_t bytes;
} gemm_hi_lo;

/* K below which the errors of an operand's hi and lo parts, of 22 bits together, exceed fp32's bound of so few terms. */
enum { GEMM_PARTS_LEAST_K = 16 };

gemm_hi_lo gemm_hi_lo_of(const gemm_tile *tile, const gemm_problem *g);
ridge_plan gemm_hi_lo_plan_of(const gemm_tile *tile, const gemm_problem *g);
/* Of a way whose `own` is a gemm_tile. */
ridge_plan gemm_hi_lo_plan(const ridge_way *way, const ridge_problem *p);

#endif
