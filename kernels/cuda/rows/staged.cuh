/* Many short rows that follow each other without gaps, of any length: a block's rows are one piece of memory, which a
 * TMA copy brings to shared memory and another one takes back. There rows may begin anywhere; in registers, each would
 * have a head and a tail of single elements, most of what it has. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_STAGED_CUH
#define RIDGE_KERNELS_CUDA_ROWS_STAGED_CUH

#include "cuda/ptx/bulk.cuh"
#include "cuda/rows/several.cuh"

namespace ridge {

/* What one lane has of a row in shared memory: elements lane, lane + lanes, …. */
template <typename T>
struct row_staged_part {
    T *x;
    int n, lane, lanes; /* n: 0 where there is no such row */

    /* f(x, chain): as row_part::each. */
    template <typename F>
    __device__ void each(F f) const {
        for (int first = lane; first < n; first += 4 * lanes)
#pragma unroll
            for (int chain = 0; chain < 4; chain++)
                if (first + chain * lanes < n) f(to_float(x[first + chain * lanes]), chain);
    }
    /* In place, by four elements that are all read before the first is written: the arithmetic of one then covers the
     * latency of another. */
    template <typename F>
    __device__ void write(F finish) const {
        for (int first = lane; first < n; first += 4 * lanes) {
            float v[4];
#pragma unroll
            for (int k = 0; k < 4; k++) v[k] = first + k * lanes < n ? to_float(x[first + k * lanes]) : 0.0f;
            finish(v, row_apart<int>{first, lanes, n - first});
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (first + k * lanes < n) x[first + k * lanes] = from_float<T>(v[k]);
        }
    }
    template <typename F>
    __device__ float sum(F f) const {
        float chain[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        each([&](float v, int c) { chain[c] += f(v); });
        return (chain[0] + chain[1]) + (chain[2] + chain[3]);
    }
};

template <typename T>
class row_staged {
    row_lanes exchange;
    row_staged_part<T> part;

   public:
    __device__ row_staged(T *x, int n, int lane, int lanes) : exchange(lanes), part{x, n, lane, lanes} {}
    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) const {
        return exchange.merged(of(part), merge);
    }
    template <typename F>
    __device__ float sum(F f) const {
        return exchange.merged(part.sum(f), row_plus());
    }
    __device__ float2 moments(void) const {
        float x[4] = {0.0f, 0.0f, 0.0f, 0.0f}, squares[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        part.each([&](float v, int c) { x[c] += v, squares[c] = fmaf(v, v, squares[c]); });
        return exchange.merged(
            make_float2((x[0] + x[1]) + (x[2] + x[3]), (squares[0] + squares[1]) + (squares[2] + squares[3])),
            row_plus());
    }
    __device__ float squares(void) const {
        return sum([](float x) { return x * x; });
    }
    __device__ bool any(bool mine) const { return exchange.any(mine); }
    __device__ int body_column(void) const { return 0; }
    template <typename F>
    __device__ void write(F finish) const {
        part.write(finish);
    }
};

constexpr int ROW_STAGED_THREADS = 256;

/* `rows` are whole 16 bytes, but for the last block's. What is left of these is moved element by element. */
template <typename Op, typename T>
__global__ void __launch_bounds__(ROW_STAGED_THREADS, 4)
    row_kernel_staged(row_tensors<T, T> io, Op op, int rows, int lanes_log2) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ uint4 row_memory[];
    __shared__ uint64_t full;
    T *const staged = (T *)row_memory;
    const int lanes = 1 << lanes_log2, groups = ROW_STAGED_THREADS >> lanes_log2, n = (int)io.n;
    const int lane = (int)threadIdx.x & (lanes - 1), group = (int)threadIdx.x >> lanes_log2;
    const int64_t first = (int64_t)blockIdx.x * rows, left = io.rows - first;
    const int here = left < rows ? (int)left : rows, elements = here * n;
    const int bulk = elements / pack_width<T> * pack_width<T>, single = bulk + (int)threadIdx.x;
    const T *const x = io.x + first * n;
    T *const y = io.y + first * n;
    if (threadIdx.x == 0) {
        mbarrier_init(shared_address(&full), 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(shared_address(&full), bulk * (int)sizeof(T));
        if (bulk > 0)
            cp_async_bulk_hint(shared_address(staged), x, bulk * (int)sizeof(T), shared_address(&full),
                               createpolicy_evict_last());
    }
    if (single < elements) staged[single] = x[single];
    __syncthreads();
    mbarrier_wait_parity(shared_address(&full), 0);
    for (int begin = 0; begin < here; begin += groups) { /* whole warps: rows of one warp exchange together */
        const int i = begin + group;
        const bool exists = i < here;
        row_staged<T> row(staged + (exists ? i * n : 0), exists ? n : 0, lane, lanes);
        const auto s = op.of(row);
        row_write(row, op, s);
    }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0 && bulk > 0) {
        cp_async_bulk_store_hint(y, shared_address(staged), bulk * (int)sizeof(T), createpolicy_evict_first());
        cp_async_bulk_commit_group();
        cp_async_bulk_wait_group_read<0>();
    }
    if (single < elements) y[single] = staged[single];
#else
    __trap(); /* launched on devices with TMA alone */
#endif
}

}  // namespace ridge

#endif
