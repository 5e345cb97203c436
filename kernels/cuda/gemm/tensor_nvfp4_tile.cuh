/* C[m, n] = A[m, k] B[n, k]^T in NVFP4 by tcgen05 in its simplest form: a block has one tile of 128 x 128 and one stage of
 * operands, as tensor_tile.cuh in 16 bits. Loads and products take turns.
 *
 *   thread 0      asks TMA for a slice of K, waits for it, starts the copies of its scales and its products, commits, waits
 *   all warps     behind the last slice: each reads its 32 lanes of sums from tensor memory, scales, rounds and stores them */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_TILE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_TILE_CUH

#include "cuda/gemm/tensor_nvfp4.cuh"
#include "cuda/gemm/tensor_tile.cuh"

namespace ridge {

struct nvfp4_tile {
    using Operands = tensor_nvfp4;
    static constexpr bool pair = false;
    static constexpr int blocks = 1, threads = tensor_tile::threads;
    static constexpr int M = tensor_tile::M, N = tensor_tile::N, K = Operands::K, rows = M, columns = N;
    using part = Operands::part<rows, columns, N>;
    static constexpr int stage_bytes = part::bytes;
    static constexpr int scales = N, allocated = 256; /* columns of tensor memory */
    static_assert(scales + part::tensor_columns <= allocated, "sums and scales");
};

/* By one thread: all slices of the tile. */
__device__ inline void nvfp4_tile_multiply(const tensor_nvfp4 &operands, uint32_t stage,
                                           const tensor_tile_shared *shared, uint32_t sums, int slices) {
    using S = nvfp4_tile;
    const uint32_t full = shared_address(&shared->full), read = shared_address(&shared->read);
    const int m = (int)blockIdx.x * S::M, n = (int)blockIdx.y * S::N;
    for (int slice = 0; slice < slices; slice++) {
        mbarrier_arrive_expect_tx(full, S::stage_bytes);
        operands.load<S>(stage, full, m, n, slice, 0);
        mbarrier_wait_parity(full, slice % 2);
        tensor_nvfp4::multiply<S>(stage, sums, sums + S::scales, n, slice == 0);
        if (slice + 1 == slices) break;
        tcgen05_commit(read);
        mbarrier_wait_parity(read, slice % 2);
    }
    tcgen05_commit(shared_address(&shared->done));
}

template <typename T>
__global__ void __launch_bounds__(nvfp4_tile::threads)
    nvfp4_tile_kernel(const __grid_constant__ tensor_nvfp4 operands, T *c, int64_t line, int rows, int columns,
                      int slices, const float *a_tensor, const float *b_tensor) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    using S = nvfp4_tile;
    extern __shared__ __align__(1024) uint8_t nvfp4_tile_stage[]; /* the swizzle begins at multiples of 1024 */
    __shared__ tensor_tile_shared shared;
    const uint32_t done = shared_address(&shared.done), sums = tensor_tile_begin(&shared, S::allocated);
    if (threadIdx.x == 0) nvfp4_tile_multiply(operands, shared_address(nvfp4_tile_stage), &shared, sums, slices);
    __syncwarp();
    mbarrier_wait_parity(done, 0);
    tcgen05_fence_after_thread_sync();
    tensor_tile_store(c, line, rows, columns, sums, *a_tensor * *b_tensor);
    tensor_tile_end(sums, S::allocated);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

}  // namespace ridge

#endif
