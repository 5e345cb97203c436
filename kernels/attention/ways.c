/* The ways of attention on a GPU, in one table. */
#include "attention/ways.h"

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_cuda_##name);
ATTENTION_TILES(DECLARE)
RIDGE_CUDA_DECLARE(attention_cuda_any);

#define TILE_WAY(name_, depth_, values_, keys_, groups_, packed_, step_, tile_, idea_) \
    {.name = #name_,                                                                   \
     .idea = idea_,                                                                    \
     .needs = 90,                                                                      \
     .plan = attention_wgmma_plan,                                                     \
     .run = RIDGE_CUDA(attention_cuda_##name_),                                        \
     .own = &(const attention_tile){depth_, values_, keys_, groups_, packed_, step_, tile_}},

const ridge_way attention_cuda_ways[ATTENTION_CUDA_WAYS] = {
    ATTENTION_TILES(TILE_WAY){.name = "any",
                              .idea = "64 queries by 32 keys, operands as they lie, by mma",
                              .plan = attention_any_plan,
                              .run = RIDGE_CUDA(attention_cuda_any)},
};
