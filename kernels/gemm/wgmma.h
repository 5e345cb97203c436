/* The plan of a product by wgmma from tiles (tiles.h), in 16 bits: which launch, and how long it takes. */
#ifndef RIDGE_GEMM_WGMMA_H
#define RIDGE_GEMM_WGMMA_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Blocks that run at once. */
int64_t gemm_room(const gemm_tile *tile, const gemm_problem *g);
/* Shares of K: as many as fill the SMs once, 1 where tiles do so already. */
int gemm_shares(const gemm_tile *tile, const gemm_problem *g);
/* Floats of a line of a share's sums in scratch: an even number. */
static inline int64_t gemm_share_line(int64_t n) { return (n + 1) / 2 * 2; }

/* Microseconds, operands in lines of 16-byte pieces. */
double gemm_tile_cost(const gemm_tile *tile, const gemm_problem *g);

/* Why no tile takes operands or C as they lie, whatever multiplies; NULL: tiles do. */
const char *gemm_tile_refusal(const gemm_problem *g);

/* Of a way whose `own` is a gemm_tile. */
ridge_plan gemm_wgmma_plan(const ridge_way *way, const ridge_problem *p);

#endif
