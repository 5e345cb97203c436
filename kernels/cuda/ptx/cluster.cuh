/* Clusters: ranks, barrier.cluster, the shared memory of other blocks (DSMEM). From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PTX_CLUSTER_CUH
#define RIDGE_KERNELS_CUDA_PTX_CLUSTER_CUH

#include "cuda/ptx/shared.cuh"

namespace ridge {

__device__ inline int cluster_ctarank(void) {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline int cluster_nctarank(void) {
    int blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
__device__ inline int clusterid_x(void) {
    int number;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}

__device__ inline void barrier_cluster_arrive(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
/* Sufficient where only fenced mbarriers have to be visible. */
__device__ inline void barrier_cluster_arrive_relaxed(void) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void barrier_cluster_wait(void) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void barrier_cluster_sync(void) { barrier_cluster_arrive(), barrier_cluster_wait(); }

/* The shared::cluster address of `address` in block `block`. */
__device__ inline uint32_t mapa(uint32_t address, int block) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}
/* The generic address of one in shared memory. The compiler does not see what it is: where it does, and the pointer may also be one
 * to global memory, nvcc 13.0 does not come to an end. */
__device__ inline void *cvta_shared(uint32_t address) {
    void *generic;
    asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"((uint64_t)address));
    return generic;
}
/* What `there` is in block `block`: it is read and written like any memory. */
template <typename T>
__device__ inline T *mapa_generic(T *there, int block) {
    T *mapped;
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(there), "r"(block));
    return mapped;
}
/* 8 bytes to another block; the mbarrier there counts them. `to`, `barrier`: shared::cluster addresses. */
__device__ inline void st_async(uint32_t to, float2 v, uint32_t barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "f"(v.x), "f"(v.y), "r"(barrier)
                 : "memory");
}
/* From the same address in block `block`. */
__device__ inline float ld_shared_cluster(uint32_t address, int block) {
    float v;
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %1, %2;\n"
        "ld.shared::cluster.f32 %0, [there];\n}"
        : "=f"(v)
        : "r"(address), "r"(block)
        : "memory");
    return v;
}
__device__ inline float4 ld_shared_cluster_v4(uint32_t address, int block) {
    float4 v;
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
        "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "r"(address), "r"(block)
        : "memory");
    return v;
}

}  // namespace ridge

#endif
