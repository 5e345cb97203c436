/* cp.async.bulk.tensor: TMA copies of boxes of a tensor map. From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PTX_TENSOR_CUH
#define RIDGE_KERNELS_CUDA_PTX_TENSOR_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace ridge {

__device__ inline void prefetch_tensormap(const CUtensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/* The map's box from column c0, row c1 on, to shared memory; the mbarrier counts its bytes. */
__device__ inline void cp_async_bulk_tensor_2d(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                               uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "l"(policy)
        : "memory");
}
/* The same for a pair of CTAs (ptx/tcgen05.cuh): the mbarrier may be the other one's, as a shared::cluster address. For sm_100a
 * alone. */
__device__ inline void cp_async_bulk_tensor_2d_pair(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0,
                                                    int c1, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "l"(policy)
        : "memory");
}
/* Of a map of three dimensions: of matrix c2. */
__device__ inline void cp_async_bulk_tensor_3d(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                               int c2, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "l"(policy)
        : "memory");
}
/* Of a map of four dimensions. */
__device__ inline void cp_async_bulk_tensor_4d(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                               int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}
__device__ inline void cp_async_bulk_tensor_4d(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1,
                                               int c2, int c3, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
        : "memory");
}
/* A box of two dimensions to every block of the mask `blocks`, at the same address in each; the mbarrier of each counts
 * its bytes. */
__device__ inline void cp_async_bulk_tensor_2d_multicast(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0,
                                                         int c1, uint16_t blocks, uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks), "l"(policy)
        : "memory");
}
/* From shared memory; elements beyond the tensor are not written. */
__device__ inline void cp_async_bulk_tensor_store(const CUtensorMap *map, uint32_t from, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1)
                 : "memory");
}
__device__ inline void cp_async_bulk_tensor_store(const CUtensorMap *map, uint32_t from, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
__device__ inline void cp_async_bulk_tensor_store(const CUtensorMap *map, uint32_t from, int c0, int c1, int c2,
                                                  int c3) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
                 : "memory");
}
/* Adds to the tensor instead; 16-bit types round once more. */
__device__ inline void cp_reduce_async_bulk_tensor_add(const CUtensorMap *map, uint32_t from, int c0, int c1) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
        "r"(from), "r"(c0), "r"(c1)
        : "memory");
}

}  // namespace ridge

#endif
