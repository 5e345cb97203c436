/* cp.async.bulk: TMA copies of contiguous bytes, counted by an mbarrier. Addresses and sizes are multiples of 16 bytes.
 * From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PTX_BULK_CUH
#define RIDGE_KERNELS_CUDA_PTX_BULK_CUH

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/global.cuh"

namespace ridge {

/* Global to shared memory. */
__device__ inline void cp_async_bulk(uint32_t to, const void *from, int bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
/* The same with a cache policy. */
__device__ inline void cp_async_bulk_hint(uint32_t to, const void *from, int bytes, uint32_t barrier, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
        "%4;" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}
/* Shared to global memory, in a bulk group. */
__device__ inline void cp_async_bulk_store_hint(void *to, uint32_t from, int bytes, uint64_t policy) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to), "r"(from),
                 "r"(bytes), "l"(policy)
                 : "memory");
}
/* This block's shared memory to block `block` of the cluster, whose mbarrier counts the bytes; `to` and `barrier` are
 * its addresses in this block. st.async of single values costs that mbarrier seven cycles each. */
__device__ inline void cp_async_bulk_cluster(const void *from, const void *to, const uint64_t *barrier, int block,
                                             int bytes) {
    const uint32_t there = mapa(shared_address(to), block), counted = mapa(shared_address(barrier), block);
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there),
        "r"(shared_address(from)), "r"(bytes), "r"(counted)
        : "memory");
}

/* Bulk groups, for copies out of shared memory. */
__device__ inline void cp_async_bulk_commit_group(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Waits until all but the last `Left` groups have read their shared memory. */
template <int Left>
__device__ inline void cp_async_bulk_wait_group_read(void) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
}
/* Waits until all groups are done. */
__device__ inline void cp_async_bulk_wait_group(void) { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

}  // namespace ridge

#endif
