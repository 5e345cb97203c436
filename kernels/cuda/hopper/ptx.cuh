/* Hopper's own instructions, one thin function each: barriers that count bytes, bulk copies of tiles (TMA), clusters,
 * register reallocation. Names follow the PTX manual. Everything takes shared-memory addresses as 32-bit numbers, which
 * is what the instructions take. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_PTX_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_PTX_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace ridge::hopper {

__device__ inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* ---- barriers ---- */

__device__ inline void barrier_init(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void barrier_init_fence(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* One arrival, and so many bytes that copies have still to bring. */
__device__ inline void barrier_expect(uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* One arrival at the barrier that lies at the same place in block `block` of the cluster. What it tells is that copies
 * may overwrite what has been read: no stores have to be seen, so the scope is the block (the cluster's would make this
 * wait for all stores under way). */
__device__ inline void barrier_arrive(uint32_t barrier, int block) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
        "r"(block)
        : "memory");
}
/* One arrival at this block's own. */
__device__ inline void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Until the phase of this parity is over. Copies have then arrived for all readers. */
__device__ inline void barrier_wait(uint32_t barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

/* ---- clusters ---- */

__device__ inline int cluster_rank(void) {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline int cluster_blocks(void) {
    int blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
/* The cluster's number along x. */
__device__ inline int cluster_number(void) {
    int number;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}
__device__ inline void cluster_arrive(void) { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/* Where nothing but fenced barriers has to be seen. */
__device__ inline void cluster_arrive_relaxed(void) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ inline void cluster_sync(void) { cluster_arrive(), cluster_wait(); }

__device__ inline void shared_put(uint32_t address, float v) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}
__device__ inline void shared_put2(uint32_t address, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
__device__ inline float2 shared_get2(uint32_t address) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}

/* ---- tiles by the copy engine ---- */

__device__ inline void prefetch_map(const CUtensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/* The map's box from column c0, row c1 on; the barrier of every block in `blocks` counts the bytes that block gets, and
 * the box lies at the same place in each of them. policy: of the second-level cache. */
__device__ inline void copy_tile(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                 uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "l"(policy)
        : "memory");
}
__device__ inline void copy_tile_to(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                    uint16_t blocks, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks), "l"(policy)
        : "memory");
}
/* What a copy leaves in the second-level cache: to be kept, as others; or as any. */
__device__ inline uint64_t copy_policy(bool keep) {
    uint64_t kept, any;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(kept));
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(any));
    return keep ? kept : any;
}
/* From shared memory; what lies beyond the tensor is not written. */
__device__ inline void store_tile(const CUtensorMap *map, uint32_t from, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1)
                 : "memory");
}
__device__ inline void store_tile(const CUtensorMap *map, uint32_t from, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
/* The same, added to what is there (16-bit types round once more). */
__device__ inline void add_tile(const CUtensorMap *map, uint32_t from, int c0, int c1) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
        "r"(from), "r"(c0), "r"(c1)
        : "memory");
}
__device__ inline void store_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Until shared memory has been read of all but the last `Left` stores; or until all is written. */
template <int Left>
__device__ inline void store_wait_read(void) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
}
__device__ inline void store_wait(void) { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
/* What ordinary stores wrote to shared memory is there for the copy engine and the tensor cores. */
__device__ inline void shared_fence(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* ---- warpgroups ---- */

template <int Registers>
__device__ inline void registers_give(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ inline void registers_take(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
/* A barrier of some of the block's warps: number 1 … 15. */
template <int Number, int Threads>
__device__ inline void named_barrier(void) {
    asm volatile("bar.sync %0, %1;" ::"n"(Number), "n"(Threads) : "memory");
}

/* Four 8 x 8 matrices of 16-bit elements from the layout of an accumulator to rows of shared memory. */
__device__ inline void store_matrices(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}

}  // namespace ridge::hopper

#endif
