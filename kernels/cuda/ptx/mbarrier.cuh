/* mbarrier: barriers in shared memory that count arrivals and the bytes of asynchronous copies. From compute
 * capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PTX_MBARRIER_CUH
#define RIDGE_KERNELS_CUDA_PTX_MBARRIER_CUH

#include "cuda/ptx/shared.cuh"

namespace ridge {

__device__ inline void mbarrier_init(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/* Makes initialized barriers visible to the cluster and to TMA. */
__device__ inline void fence_mbarrier_init(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* One arrival; the phase also waits for `bytes` of copies. */
__device__ inline void mbarrier_arrive_expect_tx(uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* The same at the barrier at this address in block `block` of the cluster. */
__device__ inline void mbarrier_arrive_expect_tx_cluster(uint32_t barrier, int block, int bytes) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [there], %2;\n}" ::"r"(barrier),
        "r"(block), "r"(bytes)
        : "memory");
}
/* One arrival at this block's barrier. */
__device__ inline void mbarrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* One arrival at the barrier at the same address in block `block` of the cluster. It announces that copies may
 * overwrite what has been read. No store has to be visible, so the scope is the block; the cluster's scope would wait
 * for all stores under way. */
__device__ inline void mbarrier_arrive_cluster(uint32_t barrier, int block) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
        "r"(block)
        : "memory");
}
/* This thread arrives when the cp.async copies that it has started are done. The arrival is not added to the count. */
__device__ inline void cp_async_mbarrier_arrive_noinc(uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/* Waits until the phase of this parity is over. Its copies are then visible. */
__device__ inline void mbarrier_wait_parity(uint32_t barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
/* The same, acquiring what other blocks of the cluster have written. */
__device__ inline void mbarrier_wait_parity_cluster(uint32_t barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

}  // namespace ridge

#endif
