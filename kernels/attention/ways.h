/* The ways of attention: of every target whose dims, options and tensors are those of problem.h. */
#ifndef RIDGE_ATTENTION_WAYS_H
#define RIDGE_ATTENTION_WAYS_H

#include "attention/decode.h"
#include "attention/problem.h"
#include "attention/tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ATTENTION_ONE_MORE(...) +1
enum {
    ATTENTION_N_TILES = 0 ATTENTION_TILES(ATTENTION_ONE_MORE),
    ATTENTION_CUDA_WAYS = ATTENTION_N_TILES ATTENTION_TENSOR_TILES(ATTENTION_ONE_MORE) + 2,
    ATTENTION_VARLEN_WAYS = 0 ATTENTION_VARLEN_TILES(ATTENTION_ONE_MORE) ATTENTION_TENSOR_TILES(ATTENTION_ONE_MORE) + 1
};
#undef ATTENTION_ONE_MORE
extern const ridge_way attention_cuda_ways[ATTENTION_CUDA_WAYS];
extern const ridge_way attention_varlen_ways[ATTENTION_VARLEN_WAYS]; /* of attention_varlen */

/* Of packed tiles: parts of the keys that blocks have side by side; and floats of their results, of one part none. */
int attention_parts(const attention_tile *tile, const int64_t *dim, const double *option, int sms);
int64_t attention_part_floats(const attention_tile *t, const int64_t *dim, int parts);

/* Of ways whose `own` is an attention_tile, and of the one that takes operands as they lie. */
ridge_plan attention_wgmma_plan(const ridge_way *way, const ridge_problem *p);
ridge_plan attention_any_plan(const ridge_way *way, const ridge_problem *p);

/* Their parts, for ways of other targets: what none takes, and a packed tile's time and scratch. */
const char *attention_common_refusal(const ridge_problem *p);
/* What is not loaded in pieces of 16 bytes, and what a tile does not take, of elements of `size` bytes. */
const char *attention_pieces_refusal(const ridge_problem *p, int size);
const char *attention_tile_refusal(const attention_tile *tile, const ridge_problem *p, int size);
ridge_plan attention_packed_plan(const attention_tile *tile, const ridge_problem *p);
ridge_plan attention_tile_plan(const attention_tile *tile, const ridge_problem *p);

#ifdef __cplusplus
}
#endif

#endif
