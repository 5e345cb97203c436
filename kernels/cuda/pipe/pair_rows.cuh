/* What a warpgroup knows of its 64 rows of a tile, two values of a quad (tile/fragment.cuh), for the other block of a pair: a
 * cluster of two blocks that have the same rows. Values travel by st.async, which an mbarrier beside them counts, and are received
 * by any warp of that block. There are two sets in turn: values of a tile may be sent when those of the tile before have been
 * received here, for then the other block had received what was sent two tiles ago. From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_PAIR_ROWS_CUH
#define RIDGE_KERNELS_CUDA_PIPE_PAIR_ROWS_CUH

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/tile/fragment.cuh"

namespace ridge {

struct pair_rows {
    static constexpr int set_bytes = 32 * 8, bytes = 2 * set_bytes + 16; /* of shared memory, for a warpgroup */
    uint32_t at;

    __device__ uint32_t arrived(int tile) const { return at + (uint32_t)(2 * set_bytes + tile % 2 * 8); }
    __device__ uint32_t set(int tile) const { return at + (uint32_t)(tile % 2 * set_bytes); }
    /* Where a set has the value of a row of the 64, from the set's begin on. */
    __device__ static uint32_t of_row(int row) { return (uint32_t)((row / 16 * 8 + row % 8) * 8 + row / 8 % 2 * 4); }
    /* By one thread, before the blocks meet. */
    __device__ void init(void) const {
        for (int tile = 0; tile < 2; tile++) mbarrier_init(arrived(tile), 1);
        fence_mbarrier_init();
    }
    /* By the warpgroup: values of its tile number `tile`, the same in all lanes of a quad. */
    __device__ void send(float2 mine, int tile, int other) const {
        if (thread_of_warpgroup() == 0) mbarrier_arrive_expect_tx(arrived(tile), set_bytes);
        const uint32_t to = set(tile) + (uint32_t)(thread_of_warpgroup() / 4 * 8);
        if (threadIdx.x % 4 == 0) st_async(mapa(to, other), mine, mapa(arrived(tile), other));
    }
    /* Until the other block's values of the tile have come. */
    __device__ void receive(int tile) const { mbarrier_wait_parity_cluster(arrived(tile), tile / 2 % 2); }
};

}  // namespace ridge

#endif
