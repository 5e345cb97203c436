/* A warpgroup's fragment of a tile of sums, as wgmma leaves it: 64 rows. A thread has two of them, `row` and `row + 8`,
 * and of these the columns 8j + 2 (lane % 4) and the next: sums[4j], sums[4j + 1] of the first row, sums[4j + 2],
 * sums[4j + 3] of the second. */
#ifndef RIDGE_KERNELS_CUDA_TILE_FRAGMENT_CUH
#define RIDGE_KERNELS_CUDA_TILE_FRAGMENT_CUH

#include "cuda/ptx/barrier.cuh"

namespace ridge {

__device__ inline int thread_of_warpgroup(void) { return (int)threadIdx.x % 128; }
/* The first of a thread's two rows, relative to the tile. */
__device__ inline int fragment_row(int group) {
    return group * 64 + thread_of_warpgroup() / 32 * 16 + (int)threadIdx.x % 32 / 4;
}
__device__ inline int fragment_column(void) { return (int)threadIdx.x % 4 * 2; }
__device__ inline void warpgroup_sync(int group) {
    if (group == 0)
        bar_sync<1, 128>();
    else
        bar_sync<2, 128>();
}

/* f(value, number) for one of a thread's two rows. Which: 0 or 1. */
template <int Which, int Count, typename F>
__device__ inline void each_of_row(float (&sums)[Count], F f) {
#pragma unroll
    for (int i = 0; i < Count / 4; i++) {
        f(sums[4 * i + 2 * Which], 2 * i);
        f(sums[4 * i + 2 * Which + 1], 2 * i + 1);
    }
}

/* hit(value) where the column is one of this thread's. Rare enough to be found by comparison. */
template <int Which, int Count, typename F>
__device__ inline void at_column(float (&v)[Count], int column, F hit) {
    const bool here = column >= 0 && column < Count * 2;
    if (!__any_sync(0xffffffffu, here)) return;
    const int mine = here && column % 8 / 2 == (int)threadIdx.x % 4 ? column / 8 * 2 + column % 2 : -1;
    each_of_row<Which>(v, [&](float &x, int i) {
        if (i == mine) hit(x);
    });
}

}  // namespace ridge

#endif
