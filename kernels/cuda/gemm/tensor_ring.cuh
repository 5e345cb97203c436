/* C[m, n] = A[m, k] B[k, n] in 16 bits by tcgen05: tensor_tile.cuh with a ring of stages, so that loads run ahead of products.
 *
 *   warp 0   one thread asks TMA for a slice as soon as the products of the slice that had its stage have read it
 *   warp 1   one thread starts the products of a slice when it has come, and commits; it waits for no product
 *   all      behind the last slice: each reads its 32 lanes of sums from tensor memory, rounds and stores them */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_RING_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_RING_CUH

#include "cuda/gemm/tensor_tile.cuh"
#include "cuda/pipe/ring.cuh"

namespace ridge {

template <int Stages>
struct tensor_ring_shared {
    tensor_tile_shared tile;               /* done, and the address of the sums */
    uint64_t filled[Stages], free[Stages]; /* of a stage: the slice has come; its products have read it */
};

/* By one thread: all slices of the tile to the ring. */
template <int Stages>
__device__ inline void tensor_ring_load(const CUtensorMap *a_map, const CUtensorMap *b_map, uint32_t operands,
                                        const tensor_ring_shared<Stages> *shared, int slices) {
    using S = tensor_tile;
    const int m = (int)blockIdx.x * S::M, n = (int)blockIdx.y * S::N;
    const uint64_t any = createpolicy_evict_normal();
    ring<Stages> at;
    for (int slice = 0; slice < slices; slice++, at.next()) {
        const uint32_t filled = shared_address(&shared->filled[at.stage]), a = operands + at.stage * S::bytes;
        if (slice >= Stages) mbarrier_wait_parity(shared_address(&shared->free[at.stage]), at.phase ^ 1);
        mbarrier_arrive_expect_tx(filled, S::bytes);
        cp_async_bulk_tensor_2d(a, a_map, filled, slice * S::K, m, any);
        for (int chunk = 0; chunk < S::N / 64; chunk++)
            cp_async_bulk_tensor_2d(a + S::a_bytes + chunk * S::b_chunk, b_map, filled, n + chunk * 64, slice * S::K,
                                    any);
    }
}

/* By one thread: the products of all slices. */
template <typename T, int Stages>
__device__ inline void tensor_ring_multiply(uint32_t operands, const tensor_ring_shared<Stages> *shared, uint32_t sums,
                                            int slices) {
    ring<Stages> at;
    for (int slice = 0; slice < slices; slice++, at.next()) {
        mbarrier_wait_parity(shared_address(&shared->filled[at.stage]), at.phase);
        tensor_tile_products<T>(operands + at.stage * tensor_tile::bytes, sums, slice == 0);
        tcgen05_commit(shared_address(&shared->free[at.stage]));
    }
    tcgen05_commit(shared_address(&shared->tile.done));
}

template <typename T, int Stages>
__global__ void __launch_bounds__(tensor_tile::threads)
    tensor_ring_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, T *c,
                       int64_t line, int rows, int columns, int slices) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    extern __shared__ __align__(1024) uint8_t tensor_tile_operands[]; /* the swizzle begins at multiples of 1024 */
    __shared__ tensor_ring_shared<Stages> shared;
    const uint32_t operands = shared_address(tensor_tile_operands);
    if (threadIdx.x == 0)
        for (int stage = 0; stage < Stages; stage++) {
            mbarrier_init(shared_address(&shared.filled[stage]), 1);
            mbarrier_init(shared_address(&shared.free[stage]), 1);
        }
    const uint32_t sums = tensor_tile_begin(&shared.tile); /* its fence and barrier are for those above, too */
    if (threadIdx.x == 0) tensor_ring_load(&a_map, &b_map, operands, &shared, slices);
    if (threadIdx.x == 32) tensor_ring_multiply<T>(operands, &shared, sums, slices);
    __syncwarp();
    mbarrier_wait_parity(shared_address(&shared.tile.done), 0);
    tcgen05_fence_after_thread_sync();
    tensor_tile_store(c, line, rows, columns, sums);
    tensor_tile_end(sums);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

template <int Stages, typename T>
ridge_status tensor_ring_run(const matmul_call &m, T) {
    using S = tensor_tile;
    CUtensorMap a_map, b_map;
    if (!make_map<T>(&a_map, lines_of(m.a), S::M) || !make_map<T>(&b_map, lines_of(m.b), S::K)) return RIDGE_FAILED;
    const auto kernel = tensor_ring_kernel<T, Stages>;
    return tensor_tile_launch(kernel, Stages, m, a_map, b_map, (T *)m.c.base, m.c.line, (int)m.c.rows, (int)m.c.columns,
                              (int)((m.a.columns + S::K - 1) / S::K));
}

}  // namespace ridge

#endif
