/* C = A B from slices of K in shared memory: see README.md. All kernels copy by cp.async and multiply alike
 * (gemm/mma_tile.cuh); they differ in the slices that are under way.
 *
 *   baseline    copy a slice, wait, multiply, barrier: while slices come, nobody multiplies
 *   optimized   while a slice is multiplied, cp.async fills the other stage, or three others */
#include <cooperative_groups.h>
#include <cuda/pipeline>

#include "cuda/gemm/call.cuh"
#include "cuda/gemm/mma_tile.cuh"

namespace {

using namespace ridge;

/* Shared memory of a block: its stages, and behind the products the tile of C. */
constexpr int bytes_of(int stages) {
    return stages * MMA_SLICE_BYTES < MMA_TILE_BYTES ? (int)MMA_TILE_BYTES : stages * (int)MMA_SLICE_BYTES;
}

template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 1) one_stage(const __grid_constant__ mma_args<T> p) {
    extern __shared__ __align__(1024) uint8_t shared_room[];
    const uint32_t stage = shared_address(shared_room);
    const mma_corner at(p, (int)blockIdx.x);
    mma_copier<T> copier(p, at);
    mma_sums sums;
    sums.clear();
    for (int slice = 0; slice < p.slices; slice++) {
        copier.slice(stage);
        cp_async_wait_all(); /* the thread's pieces; */
        __syncthreads();     /* those of all threads */
        sums.open(stage);
        sums.add(T(), stage, [](int) { return mma_no_stage; });
        __syncthreads(); /* it may be overwritten */
    }
    mma_store_tile(p, at, shared_room, sums);
}

template <int Stages, typename T>
__global__ void __launch_bounds__(MMA_THREADS, 1) several_stages(const __grid_constant__ mma_args<T> p) {
    extern __shared__ __align__(1024) uint8_t shared_room[];
    mma_multistage_tile<Stages>(p, shared_room);
}

/* The same by libcu++'s pipeline, whose mbarriers tell when a stage has come and when all threads have read it. They lie
 * behind the stages. */
using pipeline_state = cuda::pipeline_shared_state<cuda::thread_scope_block, 2>;
template <typename T>
__global__ void __launch_bounds__(MMA_THREADS, 1) two_stages_object(const __grid_constant__ mma_args<T> p) {
    extern __shared__ __align__(1024) uint8_t shared_room[];
    auto pipe =
        cuda::make_pipeline(cooperative_groups::this_thread_block(), (pipeline_state *)(shared_room + bytes_of(2)));
    const uint32_t room = shared_address(shared_room);
    const auto stage = [&](int slice) { return room + (uint32_t)(slice % 2 * MMA_SLICE_BYTES); };
    const mma_corner at(p, (int)blockIdx.x);
    mma_copier<T> copier(p, at);
    const auto copy = [&](int slice) {
        pipe.producer_acquire();
        copier.slice(stage(slice), [&](uint32_t to, const void *from, bool exists) {
            uint4 *const there = (uint4 *)__cvta_shared_to_generic(to);
            if (exists)
                cuda::memcpy_async(there, (const uint4 *)from, cuda::aligned_size_t<16>(16), pipe);
            else
                *there = make_uint4(0, 0, 0, 0);
        });
        pipe.producer_commit();
    };
    mma_sums sums;
    sums.clear();
    copy(0);
    for (int slice = 0; slice < p.slices; slice++) {
        if (slice + 1 < p.slices) copy(slice + 1);
        pipe.consumer_wait();
        sums.open(stage(slice));
        sums.add(T(), stage(slice), [](int) { return mma_no_stage; });
        pipe.consumer_release();
    }
    mma_store_tile(p, at, shared_room, sums);
}

template <int Bytes, typename T>
ridge_status run_as(const matmul_call &m, void (*kernel)(mma_args<T>)) {
    if (!mma_fits(m.a, m.c)) return RIDGE_UNSUPPORTED;
    const mma_args<T> p = mma_args_of<T>(m.a, m.b, m.c);
    return launch(kernel, {dim3((unsigned)mma_tiles(p)), MMA_THREADS, Bytes}, m.stream, p);
}
template <int Stages>
ridge_status run(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        if constexpr (Stages == 1)
            return run_as<bytes_of(Stages), T>(m, one_stage<T>);
        else
            return run_as<bytes_of(Stages), T>(m, several_stages<Stages, T>);
    });
}

}  // namespace

extern "C" ridge_status two_stage_cuda_baseline(const ridge_call *call) { return run<1>(call); }
extern "C" ridge_status two_stage_cuda_optimized(const ridge_call *call) { return run<2>(call); }
extern "C" ridge_status two_stage_cuda_object(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        return run_as<bytes_of(2) + (int)sizeof(pipeline_state), T>(m, two_stages_object<T>);
    });
}
extern "C" ridge_status two_stage_cuda_four(const ridge_call *call) { return run<4>(call); }
