/* The plan of a product by wgmma from tiles (tiles.h), in 16 bits: which launch, and how long it takes. */
#ifndef RIDGE_GEMM_WGMMA_H
#define RIDGE_GEMM_WGMMA_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Shares of K, blocks of a cluster: those with the shortest way through all tiles; 1 where none is shorter than whole tiles. */
int gemm_shares(const gemm_tile *tile, const gemm_problem *g);
/* Clusters of so many blocks, one on an SM, that run at once. */
int64_t gemm_clusters(int sms, int blocks);

/* Microseconds, operands in lines of 16-byte pieces. */
double gemm_tile_cost(const gemm_tile *tile, const gemm_problem *g);

/* Of a way whose `own` is a gemm_tile. */
ridge_plan gemm_wgmma_plan(const ridge_way *way, const ridge_problem *p);

#endif
