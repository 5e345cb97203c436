/* The ways of attention's gradients on a GPU. */
#ifndef RIDGE_ATTENTION_BACKWARD_WAYS_H
#define RIDGE_ATTENTION_BACKWARD_WAYS_H

#include "attention_backward/problem.h"
#include "attention_backward/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BACKWARD_ONE_MORE(...) +1
enum { BACKWARD_N_TILES = 0 BACKWARD_TILES(BACKWARD_ONE_MORE), ATTENTION_BACKWARD_CUDA_WAYS = BACKWARD_N_TILES + 1 };
#undef BACKWARD_ONE_MORE
extern const ridge_way attention_backward_cuda_ways[ATTENTION_BACKWARD_CUDA_WAYS];

/* Floats of what is computed once for each query. */
int64_t backward_statistics_floats(const int64_t *dim);

/* Of ways whose `own` is a backward_tile, and of the one through memory. */
ridge_plan backward_tile_plan(const ridge_way *way, const ridge_problem *p);
ridge_plan backward_unfused_plan(const ridge_way *way, const ridge_problem *p);

#ifdef __cplusplus
}
#endif

#endif
