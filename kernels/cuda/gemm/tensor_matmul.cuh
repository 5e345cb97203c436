/* C = A B by tcgen05, persistent: products of one tile beside the epilogue of the one before.
 *
 *   warp 0      one thread keeps `stages` slices of K of A's and B's tile in flight (TMA)
 *   warp 1      one thread starts the products of a slice when it has come, and commits
 *   warp 2      allocates tensor memory; one thread asks for tiles (pipe/tile_queue.cuh)
 *   warps 4-7   the epilogue: from sums in tensor memory to the result, 32 rows a warp
 *
 * Operands are what a slice is: how it comes to shared memory and how it is multiplied (tensor_operands.cuh in 16 bits,
 * tensor_nvfp4.cuh in four). They have
 *
 *   K                            of a slice
 *   part<rows, columns, N>       a block's part of it in shared memory: bytes, a multiple of 1024, and tensor_columns, which
 *                                it takes of tensor memory behind the sums
 *   load<S>(…)                   asks TMA for the part
 *   multiply<S>(…)               starts a slice's products
 *
 * Tensor memory has the sums of two tiles. made[i] is what the last commit of a tile arrives at, taken[i] what the epilogue's
 * warps arrive at once they have the sums in registers.
 *
 * A shape with `pair` gives a tile of 256 rows to two blocks of a cluster (ptx/tcgen05.cuh). Each loads its half of A's rows
 * and of B's columns, so that B crosses L2 half as often. All bytes are counted by the first block's full[s]; the products are
 * started by its thread, whose commits arrive in both blocks. Each block's epilogue has its own 128 rows. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_CUH

#include "cuda/pipe/order.h"
#include "cuda/pipe/ring.cuh"
#include "cuda/pipe/tile_queue.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/tcgen05.cuh"
#include "cuda/ptx/tensor.cuh"

namespace ridge {

struct tensor_tuning {
    int columns, stages;
    bool pair;
};

/* rows, columns: of A and of B that a block loads. */
template <class Operands_, tensor_tuning Tuned>
struct tensor_shape {
    using Operands = Operands_;
    static constexpr bool pair = Tuned.pair;
    static constexpr int blocks = pair ? 2 : 1, stages = Tuned.stages, threads = 256;
    static constexpr int M = 128 * blocks, N = Tuned.columns, K = Operands::K; /* of a tile, and of a slice */
    static constexpr int rows = 128, columns = N / blocks;
    using part = typename Operands::template part<rows, columns, N>;
    static constexpr int stage_bytes = part::bytes;
    static constexpr int scales = 2 * N, used = scales + part::tensor_columns; /* columns of tensor memory */
    static constexpr int allocated = used <= 128 ? 128 : used <= 256 ? 256 : 512;
    static constexpr int first_of_epilogue = 4, warps_of_epilogue = 4;
    static constexpr int readers = blocks * (1 + warps_of_epilogue) + 1; /* of the queue: loads, epilogue; products */
    static_assert(N % 64 == 0 && N <= 256 && used <= 512, "two tiles in tensor memory");
    static_assert(stage_bytes % 1024 == 0, "the swizzle begins at multiples of 1024");
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
    if (threadIdx.x / 32 == 2) tcgen05_alloc<S::blocks>(shared_address(&shared->sums), S::allocated);
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
    if (threadIdx.x / 32 == 2) tcgen05_dealloc<S::blocks>(sums, S::allocated);
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

/* A box of an operand for a block's part of a slice. */
template <class S>
__device__ inline void tensor_box(uint32_t to, const CUtensorMap *map, uint32_t full, int c0, int c1) {
    const uint64_t any = createpolicy_evict_normal();
    if constexpr (S::pair)
        cp_async_bulk_tensor_2d_pair(to, map, full, c0, c1, any);
    else
        cp_async_bulk_tensor_2d(to, map, full, c0, c1, any);
}
/* By one thread of each block: its part of all slices of all tiles. */
template <class S>
__device__ inline void tensor_matmul_load(const typename S::Operands &operands, const tensor_plan &plan,
                                          uint32_t stages, const tensor_shared<S> *shared, int rank) {
    tile_queue<S::blocks> queue(&shared->queue);
    ring<S::stages> at;
    const auto wait = [&] { mbarrier_wait_parity(shared_address(&shared->empty[at.stage]), at.phase ^ 1); };
    for (int tile = queue.first(); tile >= 0; tile = queue.next()) {
        const tensor_place<S> place(plan, tile);
        for (int slice = 0; slice < plan.slices; slice++, at.next()) {
            const uint32_t here = shared_address(&shared->full[at.stage]), full = S::pair ? mapa(here, 0) : here;
            wait();
            if (rank == 0) mbarrier_arrive_expect_tx(here, S::blocks * S::stage_bytes);
            operands.template load<S>(stages + (uint32_t)(at.stage * S::stage_bytes), full, place.m, place.n, slice,
                                      rank);
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
__device__ inline void tensor_matmul_multiply(const tensor_plan &plan, uint32_t stages, const tensor_shared<S> *shared,
                                              uint32_t sums) {
    tile_queue<S::blocks> queue(&shared->queue);
    ring<S::stages> at;
    ring<2> of;
    for (int tile = queue.first(); tile >= 0; tile = queue.next(), of.next()) {
        const tensor_place<S> place(plan, tile);
        mbarrier_wait_parity(shared_address(&shared->taken[of.stage]), of.phase ^ 1);
        tcgen05_fence_after_thread_sync();
        for (int slice = 0; slice < plan.slices; slice++, at.next()) {
            mbarrier_wait_parity(shared_address(&shared->full[at.stage]), at.phase);
            S::Operands::template multiply<S>(stages + (uint32_t)(at.stage * S::stage_bytes),
                                              sums + (uint32_t)(of.stage * S::N), sums + S::scales, place.n,
                                              slice == 0);
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
                                    sums + (uint32_t)(of.stage * S::N) + (uint32_t)(warp * 32 << 16), of.stage,
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

/* Epilogue::scratch: bytes of a warp, a multiple of 1024. finish<S>(row, column, sums, which of the two in turn, scratch, read) is
 * called by whole warps for their 32 rows, read() by it once all sums are in registers. */
template <class S, class Epilogue>
__global__ void __launch_bounds__(S::threads, 1)
    tensor_matmul_kernel(const __grid_constant__ typename S::Operands operands,
                         const __grid_constant__ tensor_plan plan, const __grid_constant__ Epilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    static_assert(Epilogue::scratch % 1024 == 0 && tensor_matmul_bytes<S, Epilogue> <= 226 * 1024, "shared memory");
    extern __shared__ __align__(1024) uint8_t tensor_matmul_stages[]; /* the swizzle begins at multiples of 1024 */
    __shared__ tensor_shared<S> shared;
    const uint32_t stages = shared_address(tensor_matmul_stages), scratch = stages + S::stages * S::stage_bytes;
    const int warp = (int)threadIdx.x / 32, rank = S::pair ? cluster_ctarank() : 0;
    const bool one = threadIdx.x % 32 == 0;
    const uint32_t sums = tensor_matmul_begin(&shared);
    if (warp == 0 && one) tensor_matmul_load<S>(operands, plan, stages, &shared, rank);
    if (warp == 1 && one && rank == 0) tensor_matmul_multiply<S>(plan, stages, &shared, sums);
    if (warp == 2 && one && rank == 0) tile_queue<S::blocks>(&shared.queue).ask();
    if (warp >= S::first_of_epilogue) tensor_matmul_finish<S>(plan, epilogue, scratch, &shared, sums, rank);
    tensor_matmul_end<S>(sums);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

}  // namespace ridge

#endif
