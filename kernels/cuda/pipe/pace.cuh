/* Keeps the blocks of a grid within a few slices of each other. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_PACE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_PACE_CUH

#include "cuda/ptx/global.cuh"

namespace ridge {

/* Blocks that read the same lines must do so at about the same time, or the lines leave L2 in between. Without this
 * they drift apart, tile by tile. Each block counts itself at every eighth slice and waits until all have counted the
 * eighth slice before. Only in waves in which all blocks have a tile. */
constexpr int PACE = 8;
__device__ inline void keep_pace(unsigned *progress, unsigned milestone) {
    red_relaxed_add(progress, 1);
    const unsigned all = (milestone - 1) * gridDim.x;
    while (ld_relaxed(progress) < all) {
    }
}

}  // namespace ridge

#endif
