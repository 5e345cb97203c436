/* What a warpgroup knows of its 64 rows of a tile, two values of a quad (tile/fragment.cuh), and the same warpgroup of the other
 * block of a pair: a cluster of two blocks that have the same rows. Values travel by st.async, which an mbarrier beside them
 * counts. There are two sets in turn: a thread writes a set of the other block when that block's values of the tile between have
 * come, which it sent when all of its lanes had read the set. From compute capability 9.0 on. */
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
    __device__ uint32_t slot(int tile) const {
        return at + (uint32_t)(tile % 2 * set_bytes + thread_of_warpgroup() / 4 * 8);
    }
    /* By the warpgroup, before the blocks meet. */
    __device__ void init(void) const {
        if (thread_of_warpgroup() != 0) return;
        for (int set = 0; set < 2; set++) mbarrier_init(arrived(set), 1);
        fence_mbarrier_init();
    }
    /* The other block's values of the block's tile number `tile`; mine: this block's, the same in all lanes of a quad. */
    __device__ float2 exchange(float2 mine, int tile, int other) const {
        if (thread_of_warpgroup() == 0) mbarrier_arrive_expect_tx(arrived(tile), set_bytes);
        __syncwarp();
        if (threadIdx.x % 4 == 0) st_async(mapa(slot(tile), other), mine, mapa(arrived(tile), other));
        mbarrier_wait_parity_cluster(arrived(tile), tile / 2 % 2);
        return ld_shared_v2(slot(tile));
    }
};

}  // namespace ridge

#endif
