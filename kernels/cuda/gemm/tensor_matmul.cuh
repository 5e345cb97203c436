/* C = A B in 16 bits by tcgen05, persistent: products of one tile beside the epilogue of the one before.
 *
 *   warp 0      one thread keeps `stages` slices of K of A's and B's tile in flight (TMA)
 *   warp 1      one thread starts the products of a slice when it has come, and commits
 *   warp 2      allocates tensor memory; one thread asks for tiles (pipe/tile_queue.cuh)
 *   warps 4-7   the epilogue: from sums in tensor memory to the result, 32 rows a warp
 *
 * Tensor memory has the sums of two tiles. made[i] is what the last commit of a tile arrives at, taken[i] what the epilogue's
 * warps arrive at once they have the sums in registers.
 *
 * A shape with `pair` gives a tile of 256 rows to two blocks of a cluster (ptx/tcgen05.cuh). Each loads its half of A's rows
 * and of B's columns, so that B crosses L2 half as often. All bytes are counted by the first block's full[s]; the products are
 * started by its thread, whose commits arrive in both blocks. Each block's epilogue has its own 128 rows. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_CUH

#include "cuda/mma/sm100.cuh"
#include "cuda/pipe/order.h"
#include "cuda/pipe/ring.cuh"
#include "cuda/pipe/tile_queue.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/tensor.cuh"

namespace ridge {

struct tensor_tuning {
    int columns, stages;
    bool pair;
};

/* KA, KB: lines of the operand run along K, else along M or N. */
template <typename T_, tensor_tuning Tuned, bool KA_, bool KB_>
struct tensor_shape {
    using T = T_;
    static constexpr bool pair = Tuned.pair, KA = KA_, KB = KB_;
    static constexpr int blocks = pair ? 2 : 1, stages = Tuned.stages, threads = 256;
    static constexpr int M = 128 * blocks, N = Tuned.columns, K = 64; /* of a tile, and of a slice */
    static constexpr int rows = 128, columns = N / blocks;            /* of A and of B that a block loads */
    static constexpr int a_bytes = rows * K * 2, b_bytes = columns * K * 2, stage_bytes = a_bytes + b_bytes;
    static constexpr int chunk = K * 128; /* of an operand that is not K-major: to its next 64 rows or columns */
    static constexpr int first_of_epilogue = 4, warps_of_epilogue = 4;
    static constexpr int readers = blocks * (1 + warps_of_epilogue) + 1; /* of the queue: loads, epilogue; products */
    static_assert(N % 64 == 0 && columns % 64 == 0 && N <= 256 && (N & (N - 1)) == 0, "two tiles in tensor memory");
};

/* The product, in tiles and slices of K; tiles come in bands of so many rows of them (pipe/order.h). */
struct tensor_plan {
    int m_tiles, n_tiles, slices, band;
};

/* Shared memory beside the operands; addresses of barriers. */
template <class S>
struct tensor_shared {
    uint64_t full[S::stages], empty[S::stages]; /* of a stage: the slice has come; its products have read it */
    uint64_t made[2], taken[2];
    tile_queue_shared queue;
    uint32_t sums; /* tensor memory's address */
};

template <class S>
__device__ inline void tensor_sync(void) {
    if constexpr (S::pair)
        barrier_cluster_sync();
    else
        __syncthreads();
}
/* By all threads, before anything else: tensor memory and barriers. Returns the address of the sums. */
template <class S>
__device__ inline uint32_t tensor_matmul_begin(tensor_shared<S> *shared) {
    if (threadIdx.x / 32 == 2) tcgen05_alloc<S::blocks>(shared_address(&shared->sums), 2 * S::N);
    if (threadIdx.x == 0) {
        for (int s = 0; s < S::stages; s++)
            mbarrier_init(shared_address(&shared->full[s]), 1), mbarrier_init(shared_address(&shared->empty[s]), 1);
        for (int i = 0; i < 2; i++) {
            mbarrier_init(shared_address(&shared->made[i]), 1);
            mbarrier_init(shared_address(&shared->taken[i]), S::blocks * S::warps_of_epilogue);
        }
        tile_queue_init(&shared->queue, S::readers);
        fence_mbarrier_init();
    }
    tcgen05_fence_before_thread_sync();
    __syncwarp();
    tensor_sync<S>();
    tcgen05_fence_after_thread_sync();
    return shared->sums;
}
/* By all threads, behind the last load of sums. Of a pair nobody leaves while the other one's products may still read here or
 * its arrivals come. */
template <class S>
__device__ inline void tensor_matmul_end(uint32_t sums) {
    tcgen05_fence_before_thread_sync();
    __syncwarp();
    tensor_sync<S>();
    if (threadIdx.x / 32 == 2) tcgen05_dealloc<S::blocks>(sums, 2 * S::N);
}

/* The first row and column of a tile. */
template <class S>
struct tensor_place {
    int m, n;
    __device__ tensor_place(const tensor_plan &plan, int tile) {
        const matmul_place at = matmul_place_of(tile, plan.m_tiles, plan.n_tiles, plan.band, 0);
        m = at.row * S::M, n = at.unit * S::N;
    }
};

/* A block's part of an operand's slice, `Extent` rows of A or columns of B from `first` on. */
template <class S, int Extent, bool KMajor>
__device__ inline void tensor_load(uint32_t to, const CUtensorMap *map, uint32_t full, int first, int k) {
    const uint64_t any = createpolicy_evict_normal();
    for (int chunk = 0; chunk < (KMajor ? 1 : Extent / 64); chunk++) {
        const int c0 = KMajor ? k : first + chunk * 64, c1 = KMajor ? first : k;
        const uint32_t at = to + (uint32_t)(chunk * S::chunk);
        if constexpr (S::pair)
            cp_async_bulk_tensor_2d_pair(at, map, full, c0, c1, any);
        else
            cp_async_bulk_tensor_2d(at, map, full, c0, c1, any);
    }
}
/* By one thread of each block: its part of all slices of all tiles. */
template <class S>
__device__ inline void tensor_matmul_load(const CUtensorMap *a_map, const CUtensorMap *b_map, const tensor_plan &plan,
                                          uint32_t operands, const tensor_shared<S> *shared, int rank) {
    tile_queue<S::blocks> queue(&shared->queue);
    ring<S::stages> at;
    const auto wait = [&] { mbarrier_wait_parity(shared_address(&shared->empty[at.stage]), at.phase ^ 1); };
    for (int tile = queue.first(); tile >= 0; tile = queue.next()) {
        const tensor_place<S> place(plan, tile);
        for (int slice = 0; slice < plan.slices; slice++, at.next()) {
            const uint32_t here = shared_address(&shared->full[at.stage]), full = S::pair ? mapa(here, 0) : here;
            const uint32_t a = operands + (uint32_t)(at.stage * S::stage_bytes);
            wait();
            if (rank == 0) mbarrier_arrive_expect_tx(here, S::blocks * S::stage_bytes);
            tensor_load<S, S::rows, S::KA>(a, a_map, full, place.m + rank * S::rows, slice * S::K);
            tensor_load<S, S::columns, S::KB>(a + S::a_bytes, b_map, full, place.n + rank * S::columns, slice * S::K);
        }
    }
    for (int s = 0; s < S::stages; s++, at.next()) wait(); /* no commit is on its way to a block that is gone */
}

/* Arrives when all products so far are done, of a pair in both blocks. */
template <class S>
__device__ inline void tensor_commit(const uint64_t *barrier) {
    if constexpr (S::pair)
        tcgen05_commit_pair(shared_address(barrier));
    else
        tcgen05_commit(shared_address(barrier));
}
/* By one thread, of a pair in the first block: the products of all slices of all tiles. */
template <class S>
__device__ inline void tensor_matmul_multiply(const tensor_plan &plan, uint32_t operands,
                                              const tensor_shared<S> *shared, uint32_t sums) {
    constexpr uint32_t instruction = tcgen05_instruction_f16<typename S::T, S::M, S::N, S::KA, S::KB>();
    tile_queue<S::blocks> queue(&shared->queue);
    ring<S::stages> at;
    ring<2> of;
    for (int tile = queue.first(); tile >= 0; tile = queue.next(), of.next()) {
        mbarrier_wait_parity(shared_address(&shared->taken[of.stage]), of.phase ^ 1);
        tcgen05_fence_after_thread_sync();
        for (int slice = 0; slice < plan.slices; slice++, at.next()) {
            mbarrier_wait_parity(shared_address(&shared->full[at.stage]), at.phase);
            const uint32_t stage = operands + (uint32_t)(at.stage * S::stage_bytes);
            const uint64_t a = tcgen05_descriptor(stage, S::KA ? 0 : S::chunk);
            const uint64_t b = tcgen05_descriptor(stage + S::a_bytes, S::KB ? 0 : S::chunk);
            for (int i = 0; i < S::K / 16; i++)
                tcgen05_mma_f16<S::blocks>(sums + (uint32_t)(of.stage * S::N), a + i * tcgen05_step<S::KA>,
                                           b + i * tcgen05_step<S::KB>, instruction, slice + i > 0);
            tensor_commit<S>(&shared->empty[at.stage]);
        }
        tensor_commit<S>(&shared->made[of.stage]);
    }
}

/* By each of the epilogue's warps: its 32 rows of all tiles. The next tile is asked for ahead of the wait for this one's sums,
 * so that a slow epilogue does not keep the others from theirs. */
template <class S, class Epilogue>
__device__ inline void tensor_matmul_finish(const tensor_plan &plan, const Epilogue &epilogue, uint32_t scratch,
                                            const tensor_shared<S> *shared, uint32_t sums, int rank) {
    const int warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
    tile_queue<S::blocks> queue(&shared->queue);
    ring<2> of;
    for (int tile = queue.first(); tile >= 0; of.next()) {
        const int next = __shfl_sync(0xffffffffu, lane == 0 ? queue.next() : 0, 0);
        const tensor_place<S> place(plan, tile);
        mbarrier_wait_parity(shared_address(&shared->made[of.stage]), of.phase);
        tcgen05_fence_after_thread_sync();
        epilogue.template finish<S>(place.m + rank * S::rows + warp * 32, place.n,
                                    sums + (uint32_t)(of.stage * S::N) + (uint32_t)(warp * 32 << 16),
                                    scratch + (uint32_t)(warp * Epilogue::scratch), [&] {
                                        tcgen05_fence_before_thread_sync();
                                        __syncwarp();
                                        if (lane == 0)
                                            mbarrier_arrive_cluster(shared_address(&shared->taken[of.stage]), 0);
                                    });
        tile = next;
    }
    epilogue.end();
}

template <class S, class Epilogue>
constexpr int tensor_matmul_bytes = S::stages *S::stage_bytes + S::warps_of_epilogue *Epilogue::scratch;

/* Epilogue::scratch: bytes of a warp, a multiple of 1024. */
template <class S, class Epilogue>
__global__ void __launch_bounds__(S::threads, 1)
    tensor_matmul_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                         const __grid_constant__ tensor_plan plan, const __grid_constant__ Epilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    static_assert(Epilogue::scratch % 1024 == 0 && tensor_matmul_bytes<S, Epilogue> <= 226 * 1024, "shared memory");
    extern __shared__ __align__(1024) uint8_t tensor_matmul_operands[]; /* the swizzle begins at multiples of 1024 */
    __shared__ tensor_shared<S> shared;
    const uint32_t operands = shared_address(tensor_matmul_operands), scratch = operands + S::stages * S::stage_bytes;
    const int warp = (int)threadIdx.x / 32, rank = S::pair ? cluster_ctarank() : 0;
    const bool one = threadIdx.x % 32 == 0;
    const uint32_t sums = tensor_matmul_begin(&shared);
    if (warp == 0 && one) tensor_matmul_load<S>(&a_map, &b_map, plan, operands, &shared, rank);
    if (warp == 1 && one && rank == 0) tensor_matmul_multiply<S>(plan, operands, &shared, sums);
    if (warp == 2 && one && rank == 0) tile_queue<S::blocks>(&shared.queue).ask();
    if (warp >= S::first_of_epilogue) tensor_matmul_finish<S>(plan, epilogue, scratch, &shared, sums, rank);
    tensor_matmul_end<S>(sums);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

}  // namespace ridge

#endif
