/* rms_norm_backward on a GPU: see norm_backward/held.cuh. */
#include "norm_backward/passes.cuh"

#define RUN(name, threads, packs, blocks, resident, idea) \
    NORM_BACK_RUN(rms_norm_backward, false, name, threads, packs, blocks, resident)
NORM_BACK_TILES(RUN)
NORM_BACK_RUN_ANY(rms_norm_backward, false)
