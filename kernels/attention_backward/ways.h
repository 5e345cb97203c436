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

/* Parts of what passes a tile of keys, and one of queries: blocks have them side by side where tiles are few, leave their
 * sums in scratch behind the statistics, and a launch adds these in their order. Shaped scores have one. */
typedef struct backward_split {
    int keys, queries;
} backward_split;
enum { BACKWARD_PARTS = 16 };
backward_split backward_parts_of(const backward_tile *t, const int64_t *dim, const double *option, int sms);
/* Floats of the sums of dk (then dv) of `parts` parts of keys; of dq. 0: there is one part. */
int64_t backward_key_floats(const int64_t *dim, int parts);
int64_t backward_query_floats(const int64_t *dim, int parts);

/* Of ways whose `own` is a backward_tile, and of the one through memory. */
ridge_plan backward_tile_plan(const ridge_way *way, const ridge_problem *p);
ridge_plan backward_unfused_plan(const ridge_way *way, const ridge_problem *p);

#ifdef __cplusplus
}
#endif

#endif
