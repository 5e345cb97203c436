/* Tiles of a persistent kernel by clusterlaunchcontrol: a launch has a cluster a tile, clusters that run take the tiles of
 * those that have not begun, and the first tile of a cluster is its own.
 *
 * One thread of a cluster asks for a tile as soon as all readers have the one before, so a cluster holds one ahead of those that it
 * works on. The response comes to every block of the cluster at once. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_TILE_QUEUE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_TILE_QUEUE_CUH

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/clusterlaunchcontrol.cuh"
#include "cuda/ptx/mbarrier.cuh"

namespace ridge {

/* In shared memory of each block. `read` is used in the cluster's first block alone. */
struct tile_queue_shared {
    alignas(16) uint64_t response[2];
    uint64_t come, read; /* the response is here; all readers of the cluster have it */
};

/* By one thread of each block, before the cluster's first barrier. readers: of the cluster. */
__device__ inline void tile_queue_init(tile_queue_shared *shared, int readers) {
    mbarrier_init(shared_address(&shared->come), 1);
    mbarrier_init(shared_address(&shared->read), readers);
}

/* A reader's place: one thread of whoever has to know the next tile. Blocks: of a cluster. */
template <int Blocks>
struct tile_queue {
    const tile_queue_shared *shared;
    int phase = 0;

    explicit __device__ tile_queue(const tile_queue_shared *s) : shared(s) {}
    __device__ static int first(void) { return (int)blockIdx.x / Blocks; }
    /* The tile of the response that comes next, or -1 behind the last. */
    __device__ int look(void) {
        mbarrier_wait_parity(shared_address(&shared->come), phase);
        phase ^= 1;
        const int block = clusterlaunchcontrol_query_cancel(shared_address(shared->response));
        fence_proxy_async(); /* the next response is written by that proxy */
        return block < 0 ? -1 : block / Blocks;
    }
    __device__ int next(void) {
        const int tile = look();
        mbarrier_arrive_cluster(shared_address(&shared->read), 0);
        return tile;
    }
    /* By one thread of the cluster's first block, which is not counted among the readers: asks until there are no more. */
    __device__ void ask(void) {
        const uint32_t response = shared_address(shared->response), come = shared_address(&shared->come);
        do {
            mbarrier_wait_parity(shared_address(&shared->read), phase ^ 1); /* the first time it lets pass */
            for (int block = 0; block < Blocks; block++) mbarrier_arrive_expect_tx_cluster(come, block, 16);
            if (Blocks > 1)
                clusterlaunchcontrol_try_cancel_multicast(response, come);
            else
                clusterlaunchcontrol_try_cancel(response, come);
        } while (look() >= 0);
    }
};

}  // namespace ridge

#endif
