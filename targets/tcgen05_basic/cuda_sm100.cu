/* C = A B by tcgen05, a tile of 128 x 128 a block: see README.md. Either variant has one stage of operands and its sums in
 * tensor memory, and loads and products take turns.
 *
 *   baseline    as wgmma was fed before TMA: every thread copies its pieces of a slice, and all wait for its products
 *   optimized   one thread asks TMA for the slice and starts the products (gemm/tensor_tile.cuh); others read the sums */
#include "cuda/gemm/tensor_tile.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/tile/swizzle.cuh"

namespace {

using namespace ridge;
using S = tensor_tile;

template <typename T>
struct operands_in_memory {
    const T *a, *b;
    int64_t a_line, b_line;
    int m, n, k;
};

/* The thread's pieces of the slice from k on: eight of A and eight of B, zeros beyond the matrices. */
template <typename T>
__device__ void copy_slice(const operands_in_memory<T> &in, uint32_t to, int k) {
    const int thread = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < S::M * 8 / S::threads; i++) {
        const int line = (i * S::threads + thread) / 8, piece = thread % 8;
        const int row = (int)blockIdx.x * S::M + line, at = k + piece * 8;
        const bool exists = row < in.m && at < in.k;
        cp_async_16_if(to + swizzle_128B(line, piece), exists ? in.a + row * in.a_line + at : in.a, exists);
    }
#pragma unroll
    for (int i = 0; i < S::K * (S::N / 8) / S::threads; i++) {
        const int line = (i * S::threads + thread) / (S::N / 8), piece = thread % (S::N / 8);
        const int column = (int)blockIdx.y * S::N + piece * 8;
        const bool exists = k + line < in.k && column < in.n;
        cp_async_16_if(to + S::a_bytes + piece / 8 * S::b_chunk + swizzle_128B(line, piece % 8),
                       exists ? in.b + (k + line) * in.b_line + column : in.b, exists);
    }
}

template <typename T>
__global__ void __launch_bounds__(S::threads)
    all_threads(const __grid_constant__ operands_in_memory<T> in, T *c, int64_t line, int slices) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    extern __shared__ __align__(1024) uint8_t tensor_tile_operands[];
    __shared__ tensor_tile_shared shared;
    const uint32_t operands = shared_address(tensor_tile_operands), read = shared_address(&shared.read);
    const uint32_t sums = tensor_tile_begin(&shared);
    for (int slice = 0; slice < slices; slice++) {
        copy_slice(in, operands, slice * S::K);
        cp_async_wait_all();
        fence_proxy_async(); /* tcgen05 reads what threads have written; */
        __syncthreads();     /* what all of them have written */
        if (threadIdx.x == 0) {
            tensor_tile_products<T>(operands, sums, slice == 0);
            tcgen05_commit(read);
        }
        __syncwarp();
        mbarrier_wait_parity(read, slice % 2); /* the stage may be filled again */
    }
    tcgen05_fence_after_thread_sync();
    tensor_tile_store(c, line, in.m, in.n, sums);
    tensor_tile_end(sums);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

}  // namespace

extern "C" ridge_status tcgen05_basic_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        const operands_in_memory<T> in = {(const T *)m.a.base, (const T *)m.b.base, m.a.line,        m.b.line,
                                          (int)m.c.rows,       (int)m.c.columns,    (int)m.a.columns};
        return tensor_tile_launch(all_threads<T>, 1, m, in, (T *)m.c.base, m.c.line, (in.k + S::K - 1) / S::K);
    });
}
extern "C" ridge_status tcgen05_basic_cuda_optimized(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) { return tensor_tile_run(m, type); });
}
