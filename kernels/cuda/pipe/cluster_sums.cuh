/* Sums that the blocks of a cluster make of one tile, each of a part of the depth: every block owns some rows and
 * receives the other blocks' sums of these by cp.async.bulk, which an mbarrier of its own counts. One wait, no atomics,
 * and the owner adds the parts in one order, the same at every run. From compute capability 9.0 on.
 *
 *   begin       by one thread, after the block's other mbarriers; all threads then arrive relaxed at barrier.cluster
 *   started     by all threads, before the first send: all blocks of the cluster run
 *   send        by one thread, behind fence_proxy_async() and a barrier of those that have written
 *   received    by all threads: the parts are here
 *   end         by all threads: what this block has sent has been received, so it may exit */
#ifndef RIDGE_KERNELS_CUDA_PIPE_CLUSTER_SUMS_CUH
#define RIDGE_KERNELS_CUDA_PIPE_CLUSTER_SUMS_CUH

#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/mbarrier.cuh"

namespace ridge {

class cluster_sums {
    uint64_t *arrived; /* in shared memory, at the same place in every block */

   public:
    __device__ explicit cluster_sums(uint64_t *barrier) : arrived(barrier) {}
    /* bytes: of all parts that other blocks send. */
    __device__ void begin(int bytes) const {
        mbarrier_init(shared_address(arrived), 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(shared_address(arrived), bytes);
    }
    __device__ void started(void) const { barrier_cluster_wait(); }
    /* to: as this block would write it; it lies at the same place in block `block`. */
    __device__ void send(const float *from, const float *to, int block, int bytes) const {
        cp_async_bulk_cluster(from, to, arrived, block, bytes);
    }
    __device__ void received(void) const {
        mbarrier_wait_parity_cluster(shared_address(arrived), 0);
        barrier_cluster_arrive_relaxed();
    }
    __device__ void end(void) const { barrier_cluster_wait(); }
};

}  // namespace ridge

#endif
