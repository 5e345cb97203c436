/* C[m, n] = A[m, k] B[k, n] in 16 bits by tcgen05, in its simplest form: a block has one tile of 128 x 128 and one stage of
 * operands. Rows of all three in 16-byte pieces. targets/tcgen05_basic compares it with a kernel whose threads all load.
 *
 *   thread 0      asks TMA for a slice of K, waits for it, starts its products, commits, waits until they have read the stage
 *   all warps     behind the last slice: each reads its 32 lanes of sums from tensor memory, rounds and stores them
 *
 * Loads and products take turns. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_TILE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_TILE_CUH

#include "cuda/gemm/call.cuh"
#include "cuda/host/tensor_map.cuh"
#include "cuda/mma/sm100.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/tile/pack.cuh"

namespace ridge {

struct tensor_tile {
    static constexpr int M = 128, N = 128, K = 64, threads = 128;
    static constexpr int a_bytes = M * 128, b_chunk = K * 128, b_bytes = N / 64 * b_chunk;
    static constexpr int bytes = a_bytes + b_bytes;
};

/* Shared memory beside the operands. */
struct tensor_tile_shared {
    uint64_t full, read, done; /* the slice has come; its products have read it; all products are done */
    uint32_t sums;             /* tensor memory's address */
};

/* By all threads, before anything else: so many columns of tensor memory, and barriers. Returns the address of the sums. */
__device__ inline uint32_t tensor_tile_begin(tensor_tile_shared *shared, int allocated = tensor_tile::N) {
    if (threadIdx.x < 32) tcgen05_alloc(shared_address(&shared->sums), allocated);
    if (threadIdx.x == 0) {
        mbarrier_init(shared_address(&shared->full), 1), mbarrier_init(shared_address(&shared->read), 1);
        mbarrier_init(shared_address(&shared->done), 1);
        fence_mbarrier_init();
    }
    tcgen05_fence_before_thread_sync();
    __syncthreads();
    tcgen05_fence_after_thread_sync();
    return shared->sums;
}
/* By all threads, behind the last load of sums. */
__device__ inline void tensor_tile_end(uint32_t sums, int allocated = tensor_tile::N) {
    tcgen05_fence_before_thread_sync();
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc(sums, allocated);
}

/* By one thread: starts the products of the slice at hand. */
template <typename T>
__device__ inline void tensor_tile_products(uint32_t operands, uint32_t sums, bool first) {
    using S = tensor_tile;
    constexpr uint32_t instruction = tcgen05_instruction_f16<T, S::M, S::N, true, false>();
    const uint64_t a = tcgen05_descriptor(operands, 0), b = tcgen05_descriptor(operands + S::a_bytes, S::b_chunk);
    for (int i = 0; i < S::K / 16; i++)
        tcgen05_mma_f16(sums, a + i * tcgen05_step<true>, b + i * tcgen05_step<false>, instruction, !first || i > 0);
}

/* By one thread: all slices of the tile. */
template <typename T>
__device__ inline void tensor_tile_multiply(const CUtensorMap *a_map, const CUtensorMap *b_map, uint32_t operands,
                                            const tensor_tile_shared *shared, uint32_t sums, int slices) {
    const uint32_t full = shared_address(&shared->full), read = shared_address(&shared->read);
    using S = tensor_tile;
    const int m = (int)blockIdx.x * S::M, n = (int)blockIdx.y * S::N;
    const uint32_t b = operands + S::a_bytes;
    const uint64_t any = createpolicy_evict_normal();
    for (int slice = 0; slice < slices; slice++) {
        mbarrier_arrive_expect_tx(full, S::bytes);
        cp_async_bulk_tensor_2d(operands, a_map, full, slice * S::K, m, any);
        for (int chunk = 0; chunk < S::N / 64; chunk++)
            cp_async_bulk_tensor_2d(b + chunk * S::b_chunk, b_map, full, n + chunk * 64, slice * S::K, any);
        mbarrier_wait_parity(full, slice % 2);
        tensor_tile_products<T>(operands, sums, slice == 0);
        if (slice + 1 == slices) break;
        tcgen05_commit(read);
        mbarrier_wait_parity(read, slice % 2);
    }
    tcgen05_commit(shared_address(&shared->done));
}

/* By all warps: a thread has a row, sixteen columns of it at a time; C is the sums times `scale`. */
template <typename T>
__device__ inline void tensor_tile_store(T *c, int64_t line, int rows, int columns, uint32_t sums, float scale = 1.0f) {
    const int row = (int)(blockIdx.x * tensor_tile::M + threadIdx.x), first = (int)blockIdx.y * tensor_tile::N;
    const uint32_t lanes = sums + (threadIdx.x / 32 * 32 << 16);
    for (int column = 0; column < tensor_tile::N; column += 16) {
        unsigned v[16];
        tcgen05_ld(v, lanes + column);
        tcgen05_wait_ld(v);
#pragma unroll
        for (int piece = 0; piece < 16; piece += 8) {
            uint4 packed;
            unsigned *const two = &packed.x;
#pragma unroll
            for (int j = 0; j < 4; j++)
                two[j] = cvt_rn_x2(T(), __uint_as_float(v[piece + 2 * j]) * scale,
                                   __uint_as_float(v[piece + 2 * j + 1]) * scale);
            const int at = first + column + piece;
            if (row < rows && at < columns) *(uint4 *)(c + row * line + at) = packed;
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(tensor_tile::threads)
    tensor_tile_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, T *c,
                       int64_t line, int rows, int columns, int slices) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    extern __shared__ __align__(1024) uint8_t tensor_tile_operands[]; /* the swizzle begins at multiples of 1024 */
    __shared__ tensor_tile_shared shared;
    const uint32_t done = shared_address(&shared.done), sums = tensor_tile_begin(&shared);
    if (threadIdx.x == 0)
        tensor_tile_multiply<T>(&a_map, &b_map, shared_address(tensor_tile_operands), &shared, sums, slices);
    __syncwarp();
    mbarrier_wait_parity(done, 0);
    tcgen05_fence_after_thread_sync();
    tensor_tile_store(c, line, rows, columns, sums);
    tensor_tile_end(sums);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

/* A block a tile, with so many stages of operands. */
template <typename... P, typename... A>
ridge_status tensor_tile_launch(void (*kernel)(P...), int stages, const matmul_call &m, const A &...a) {
    using S = tensor_tile;
    if (device_capability() != 100 || m.a.columns < 1) return RIDGE_UNSUPPORTED;
    if (m.c.rows > INT32_MAX - S::M || m.c.columns > 65535 * S::N || m.a.columns > INT32_MAX - S::K)
        return RIDGE_UNSUPPORTED;
    const launch_shape shape = {
        dim3((unsigned)((m.c.rows + S::M - 1) / S::M), (unsigned)((m.c.columns + S::N - 1) / S::N)), S::threads,
        stages * S::bytes};
    return launch(kernel, shape, m.stream, a...);
}
template <typename T>
ridge_status tensor_tile_run(const matmul_call &m, T) {
    using S = tensor_tile;
    CUtensorMap a_map, b_map;
    if (!make_map<T>(&a_map, lines_of(m.a), S::M) || !make_map<T>(&b_map, lines_of(m.b), S::K)) return RIDGE_FAILED;
    return tensor_tile_launch(tensor_tile_kernel<T>, 1, m, a_map, b_map, (T *)m.c.base, m.c.line, (int)m.c.rows,
                              (int)m.c.columns, (int)((m.a.columns + S::K - 1) / S::K));
}

}  // namespace ridge

#endif
