/* C = A B from slices of K in shared memory: see README.md. Both variants multiply alike (gemm/mma_tile.cuh).
 *
 *   baseline    load a slice, barrier, multiply, barrier: while slices come, nobody multiplies
 *   optimized   two stages: while a slice is multiplied, cp.async fills the other stage */
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/mma_tile.cuh"

namespace {

using namespace ridge;

/* Loads in flight of a thread, through its registers. */
constexpr int loads = MMA_PIECES / MMA_THREADS;

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 2) one_stage(const __grid_constant__ mma_args<T> p) {
    __shared__ __align__(128) uint8_t room[MMA_SLICE_BYTES];
    const uint32_t stage = shared_address(room);
    mma_sums sums;
    for (int slice = 0; slice < p.slices; slice++) {
        uint4 v[loads];
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const mma_piece<T> piece(p, (int)threadIdx.x + i * MMA_THREADS, slice);
            v[i] = ld_global_if(piece.from, piece.exists);
        }
#pragma unroll
        for (int i = 0; i < loads; i++)
            st_shared_v4(stage + mma_piece<T>(p, (int)threadIdx.x + i * MMA_THREADS, slice).to, v[i]);
        __syncthreads();
        sums.add(T(), stage);
        __syncthreads();
    }
    sums.store(p);
}

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 2) two_stages(const __grid_constant__ mma_args<T> p) {
    __shared__ __align__(128) uint8_t room[2][MMA_SLICE_BYTES];
    const auto stage = [&](int slice) { return shared_address(room[slice % 2]); };
    const auto copy = [&](int slice) {
        if (slice < p.slices) mma_copy_slice(p, slice, stage(slice), (int)threadIdx.x, MMA_THREADS);
        cp_async_commit_group();
    };
    mma_sums sums;
    copy(0);
    for (int slice = 0; slice < p.slices; slice++) {
        copy(slice + 1);
        cp_async_wait_group<1>(); /* the thread's pieces of this slice; */
        __syncthreads();          /* those of all threads */
        sums.add(T(), stage(slice));
        __syncthreads(); /* it may be overwritten */
    }
    sums.store(p);
}

ridge_status run(const ridge_call *call, bool overlapped) {
    return with_matmul_16(call, [&](const matmul_call &m, auto type) {
        using T = decltype(type);
        if (!mma_fits(m.a, m.c)) return RIDGE_UNSUPPORTED;
        return launch(overlapped ? two_stages<T> : one_stage<T>, {mma_grid(m.c), MMA_THREADS}, m.stream,
                      mma_args_of<T>(m.a, m.b, m.c));
    });
}

}  // namespace

extern "C" ridge_status two_stage_cuda_baseline(const ridge_call *call) { return run(call, false); }
extern "C" ridge_status two_stage_cuda_optimized(const ridge_call *call) { return run(call, true); }
