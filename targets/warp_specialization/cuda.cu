/* C = A B from slices of K in shared memory: see README.md. Both variants multiply alike (gemm/mma_tile.cuh) and keep
 * as many slices in flight.
 *
 *   baseline    every warp copies its part of a slice, waits for all others, multiplies, waits for all others again
 *   optimized   one warp copies and eight multiply; they meet at mbarriers, stage by stage, not at a barrier of all */
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/mma_tile.cuh"
#include "cuda/ptx/mbarrier.cuh"

namespace {

using namespace ridge;

constexpr int stages = 4, room_bytes = stages * MMA_SLICE_BYTES;

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 2) all_alike(const __grid_constant__ mma_args<T> p) {
    extern __shared__ __align__(128) uint8_t shared_room[];
    const uint32_t room = shared_address(shared_room);
    const auto stage = [&](int slice) { return room + (uint32_t)(slice % stages * MMA_SLICE_BYTES); };
    const auto copy = [&](int slice) {
        if (slice < p.slices) mma_copy_slice(p, slice, stage(slice), (int)threadIdx.x, MMA_THREADS);
        cp_async_commit_group();
    };
    mma_sums sums;
    for (int slice = 0; slice < stages - 1; slice++) copy(slice);
    for (int slice = 0; slice < p.slices; slice++) {
        cp_async_wait_group<stages - 2>(); /* the thread's pieces of this slice; */
        __syncthreads();                   /* those of all threads, and all have read the stage that is filled next */
        copy(slice + stages - 1);
        sums.add(T(), stage(slice));
    }
    sums.store(p);
}

constexpr int roles_bytes = room_bytes + 16 * stages; /* two mbarriers a stage */

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS + 32, 2) producer_and_consumers(const __grid_constant__ mma_args<T> p) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) uint8_t shared_room[];
    const uint32_t room = shared_address(shared_room);
    const auto stage = [&](int s) { return room + (uint32_t)(s * MMA_SLICE_BYTES); };
    /* full: the copies of a stage have arrived; empty: its eight readers are done */
    const auto full = [&](int s) { return room + (uint32_t)(room_bytes + 16 * s); };
    const auto empty = [&](int s) { return full(s) + 8; };
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; s++) mbarrier_init(full(s), 32), mbarrier_init(empty(s), MMA_WARPS);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= MMA_THREADS) { /* the producer */
        for (int slice = 0; slice < p.slices; slice++) {
            const int s = slice % stages;
            mbarrier_wait_parity(empty(s), (slice / stages + 1) % 2); /* a new barrier lets pass */
            mma_copy_slice(p, slice, stage(s), (int)threadIdx.x % 32, 32);
            cp_async_mbarrier_arrive_noinc(full(s));
        }
        cp_async_wait_all(); /* nobody leaves with copies under way */
        return;
    }
    mma_sums sums;
    for (int slice = 0; slice < p.slices; slice++) {
        const int s = slice % stages;
        mbarrier_wait_parity(full(s), slice / stages % 2);
        sums.add(T(), stage(s));
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(s));
    }
    sums.store(p);
#else
    __trap(); /* launched from compute capability 9.0 on */
#endif
}

template <typename T>
ridge_status run(const matmul_call &m, void (*kernel)(mma_args<T>), int threads, int bytes,
                 allowed_per_device &allowed) {
    if (!mma_fits(m.a, m.c)) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(
        cuda_status(allowed.get([&] { return allow_shared((const void *)kernel, bytes); }), "cudaFuncSetAttribute"));
    return launch(kernel, {mma_grid(m.c), threads, bytes}, m.stream, mma_args_of<T>(m.a, m.b, m.c));
}

}  // namespace

extern "C" ridge_status warp_specialization_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        static allowed_per_device allowed;
        return run<T>(m, all_alike<T>, MMA_THREADS, room_bytes, allowed);
    });
}
extern "C" ridge_status warp_specialization_cuda_optimized(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        static allowed_per_device allowed;
        return run<T>(m, producer_and_consumers<T>, MMA_THREADS + 32, roles_bytes, allowed);
    });
}
