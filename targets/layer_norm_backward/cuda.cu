/* layer_norm_backward on a GPU: see norm_backward/held.cuh. */
#include "norm_backward/passes.cuh"

#define RUN(name, threads, packs, blocks, resident, idea) \
    NORM_BACK_RUN(layer_norm_backward, true, name, threads, packs, blocks, resident)
NORM_BACK_TILES(RUN)
NORM_BACK_RUN_ANY(layer_norm_backward, true)
