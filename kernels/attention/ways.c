/* The ways of attention on a GPU, in two tables. */
#include "attention/ways.h"

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_cuda_##name);
#define DECLARE_VARLEN(name, ...) RIDGE_CUDA_DECLARE(attention_varlen_cuda_##name);
ATTENTION_TILES(DECLARE)
ATTENTION_TENSOR_TILES(DECLARE)
ATTENTION_VARLEN_TILES(DECLARE_VARLEN)
ATTENTION_TENSOR_TILES(DECLARE_VARLEN)
RIDGE_CUDA_DECLARE(attention_cuda_decode);
RIDGE_CUDA_DECLARE(attention_cuda_any);
RIDGE_CUDA_DECLARE(attention_varlen_cuda_any);

/* Code of wgmma and setmaxnreg is for 9.0 alone, that of tcgen05 for 10.0. */
#define WAY(capability_, run_, name_, depth_, values_, keys_, groups_, packed_, step_, tile_, idea_) \
    {.name = #name_,                                                                                 \
     .idea = idea_,                                                                                  \
     .needs = capability_,                                                                           \
     .below = (capability_) + 1,                                                                     \
     .plan = attention_wgmma_plan,                                                                   \
     .run = RIDGE_CUDA(run_##name_),                                                                 \
     .own = &(const attention_tile){depth_, values_, keys_, groups_, packed_, step_, tile_}},
#define TILE_WAY(...) WAY(90, attention_cuda_, __VA_ARGS__)
#define TENSOR_WAY(...) WAY(100, attention_cuda_, __VA_ARGS__)
#define VARLEN_WAY(...) WAY(90, attention_varlen_cuda_, __VA_ARGS__)
#define VARLEN_TENSOR_WAY(...) WAY(100, attention_varlen_cuda_, __VA_ARGS__)
#define DECODE_WAY                                                                 \
    {.name = "decode",                                                             \
     .idea = "up to 8 rows of heads that share keys, which each warp has some of", \
     .needs = 90,                                                                  \
     .plan = attention_decode_plan,                                                \
     .run = RIDGE_CUDA(attention_cuda_decode)},
#define ANY_WAY(run_)                                               \
    {.name = "any",                                                 \
     .idea = "64 queries by 32 keys, operands as they lie, by mma", \
     .plan = attention_any_plan,                                    \
     .run = RIDGE_CUDA(run_)},

const ridge_way attention_cuda_ways[ATTENTION_CUDA_WAYS] = {ATTENTION_TILES(TILE_WAY) ATTENTION_TENSOR_TILES(TENSOR_WAY)
                                                                DECODE_WAY ANY_WAY(attention_cuda_any)};
const ridge_way attention_varlen_ways[ATTENTION_VARLEN_WAYS] = {
    ATTENTION_VARLEN_TILES(VARLEN_WAY) ATTENTION_TENSOR_TILES(VARLEN_TENSOR_WAY) ANY_WAY(attention_varlen_cuda_any)};
