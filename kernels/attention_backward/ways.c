/* The ways of attention's gradients on a GPU, in one table. */
#include "attention_backward/ways.h"

#include "attention_backward/unfused.h"

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_backward_cuda_##name);
BACKWARD_TILES(DECLARE)

#define TILE_WAY(name_, depth_, values_, queries_, keys_, apart_, idea_) \
    {.name = #name_,                                                     \
     .idea = idea_,                                                      \
     .needs = 90,                                                        \
     .below = 91,                                                        \
     .plan = backward_tile_plan,                                         \
     .run = RIDGE_CUDA(attention_backward_cuda_##name_),                 \
     .own = &(const backward_tile){depth_, values_, queries_, keys_, apart_}},

const ridge_way attention_backward_cuda_ways[ATTENTION_BACKWARD_CUDA_WAYS] = {
    BACKWARD_TILES(TILE_WAY){.name = "unfused",
                             .idea = "as the baseline: tensors may begin anywhere, and may be empty",
                             .plan = backward_unfused_plan,
                             .run = RIDGE_CUDA(attention_backward_cuda_unfused)},
};
