/* Many short rows that follow each other without gaps, of any length: a block's rows are one piece of memory of each
 * matrix, which a TMA copy brings to shared memory and another one takes back. There rows may begin anywhere; in
 * registers, each would have a head and a tail of single elements, most of what it has.
 *
 * Neighbouring lanes have a row together, as many as hold it in registers (a power of two): elements go once from
 * shared memory to registers and once back. What is written takes the place of what was read. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_STAGED_CUH
#define RIDGE_KERNELS_CUDA_ROWS_STAGED_CUH

#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/rows/kernels.cuh"

namespace ridge {

/* Packs of shared memory for `elements` that begin anywhere in the first pack. */
template <typename T>
__host__ __device__ constexpr int row_staged_room(int elements) {
    return (elements + 2 * (pack_width<T> - 1)) / pack_width<T>;
}

/* A block's piece of every matrix, all of which lie alike: single elements, packs, single elements. In shared memory,
 * element 0 lies `skew` elements behind a 16-byte boundary, as in global memory. */
template <typename T>
struct row_staged_piece {
    static constexpr int W = pack_width<T>;
    int elements, skew, head, bulk; /* bulk: elements in packs */

    __device__ row_staged_piece(const T *first, int count)
        : elements(count), skew((int)((unsigned)(uintptr_t)first % 16 / sizeof(T))), head((W - skew) % W), bulk(0) {
        head = head < count ? head : count;
        bulk = (count - head) / W * W;
    }
    /* f(k) for each single element, by some of the block's threads. */
    template <typename F>
    __device__ void each_single(F f) const {
        const int k = (int)threadIdx.x, single = elements - bulk;
        if (k < single) f(k < head ? k : k + bulk);
    }
    __device__ int bytes(void) const { return bulk * (int)sizeof(T); }
};

/* Lanes: those that have a row together. */
template <typename Op, class Io, int Lanes>
__global__ void __launch_bounds__(ROW_STAGED_THREADS, 8) row_kernel_staged(Io io, Op op) {
#if __CUDA_ARCH__ >= 900
    using T = typename Io::in;
    extern __shared__ uint4 row_memory[];
    __shared__ uint64_t full;
    __shared__ row_slots<Lanes> slots;
    constexpr int rows = ROW_STAGED_THREADS / Lanes;
    if (gridDim.x <= ROW_EARLY_BLOCKS) {
        after_previous_launch();
        row_prefetch<T>(op, io.n, (int)threadIdx.x, ROW_STAGED_THREADS);
    }
    const int n = (int)io.n, i = (int)threadIdx.x / Lanes;
    const int64_t first = (int64_t)blockIdx.x * rows, left = io.rows - first, at = first * n;
    const int here = left < rows ? (int)left : rows;
    const row_staged_piece<T> piece(io.x + at, here * n);
    T *memory[Io::reads];
#pragma unroll
    for (int k = 0; k < Io::reads; k++) memory[k] = (T *)(row_memory + k * row_staged_room<T>(rows * n)) + piece.skew;
    if (threadIdx.x == 0) {
        mbarrier_init(shared_address(&full), 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(shared_address(&full), Io::reads * piece.bytes());
#pragma unroll
        for (int k = 0; k < Io::reads; k++)
            if (piece.bulk > 0)
                cp_async_bulk_hint(shared_address(memory[k] + piece.head), io.read(k) + at + piece.head, piece.bytes(),
                                   shared_address(&full), createpolicy_evict_last());
    }
#pragma unroll
    for (int k = 0; k < Io::reads; k++) piece.each_single([&](int e) { memory[k][e] = io.read(k)[at + e]; });
    __syncthreads();
    mbarrier_wait_parity(shared_address(&full), 0);
    const auto span = io.within(memory).template at<1, int, false>(i, i < here);
    row_held<decltype(span), Lanes, ROW_STAGED_ELEMENTS, false> row(span, &slots, (int)threadIdx.x % Lanes, Lanes);
    const auto s = op.of(row);
    row_write(row, op, s);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0 && piece.bulk > 0) {
#pragma unroll
        for (int k = 0; k < Io::writes; k++)
            cp_async_bulk_store_hint(io.written(k) + at + piece.head, shared_address(memory[k] + piece.head),
                                     piece.bytes(), createpolicy_evict_first());
        cp_async_bulk_commit_group();
        cp_async_bulk_wait_group_read<0>();
    }
#pragma unroll
    for (int k = 0; k < Io::writes; k++) piece.each_single([&](int e) { io.written(k)[at + e] = memory[k][e]; });
#else
    __trap(); /* launched on devices with TMA alone */
#endif
}

}  // namespace ridge

#endif
