/* Blocks that stay close together in time. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_PACE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_PACE_CUH

#include "cuda/ptx/global.cuh"

namespace ridge {

/* Blocks that read the same lines must do so at about the same time, or memory has to bring them again. Left alone they
 * drift apart, tile by tile. So each counts itself at every eighth slice, and waits there for the last one to have been
 * at the one before. Only in waves that all blocks take part in. */
constexpr int PACE = 8;
__device__ inline void keep_pace(unsigned *progress, unsigned milestone) {
    red_relaxed_add(progress, 1);
    const unsigned all = (milestone - 1) * gridDim.x;
    while (ld_relaxed(progress) < all) {
    }
}

}  // namespace ridge

#endif
