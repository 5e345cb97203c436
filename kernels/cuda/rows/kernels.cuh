/* The kernels of rows, by how many threads have a row together: one, part of a warp, a block, a cluster; see
 * rows/run.cuh.
 */
#ifndef RIDGE_KERNELS_CUDA_ROWS_KERNELS_CUH
#define RIDGE_KERNELS_CUDA_ROWS_KERNELS_CUH

#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/rows/tensors.cuh"

namespace ridge {

/* How an operation's rows are cut up. Elements: of a thread, in rows of up to 4096, and in longer ones. Resident: the
 * threads of an SM that registers must suffice for. Filled: the same, at most, of rows that exactly fill
 * their threads, where they have a kernel of their own: worth it where instructions or a single row's latency limit;
 * 0: they have none. */
struct row_shape {
    int elements, resident, long_elements, long_resident, filled;
};

/* What an operation without parameters does is the same for every column. */
struct row_without_parameters {
    static constexpr int parameters = 0;
    template <typename Statistics>
    __device__ bool usual(const Statistics &s, int64_t column) const {
        return s.scale == 1.0f;
    }
};

/* What makes a row's elements y. Grouped: single elements come several at a time, so that their parameters are in
 * flight together; without parameters the first would only be stored later (24298 x 3843 bf16: 134 us, one by one 112).
 */
template <int How, typename Op, typename Statistics>
struct row_finish {
    static constexpr bool grouped = Op::parameters > 0;
    const Op &op;
    const Statistics &s;
    template <typename V, typename Column>
    __device__ void operator()(V &v, Column column) const {
        op.template finish<How>(v, s, column);
    }
};

/* Two copies of the writing, so that the usual one does not carry the other's instructions. */
template <typename Row, typename Op, typename Statistics>
__device__ inline void row_write(Row &row, const Op &op, const Statistics &s) {
    if (op.usual(s, row.body_column()))
        row.write(row_finish<ROW_USUAL, Op, Statistics>{op, s});
    else
        row.write(row_finish<ROW_GENERAL, Op, Statistics>{op, s});
}

/* Where blocks are few, a launch takes two latencies of memory: the row's, and that of parameters that nothing has
 * brought to L2. A block's or a cluster's threads ask for these before they ask for the row. */
template <typename T, typename Op>
__device__ inline void row_prefetch(const Op &op, int64_t n, int thread, int threads) {
    if constexpr (Op::parameters > 0) {
#pragma unroll 1
        for (int64_t column = thread * pack_width<T>; column < n; column += threads * pack_width<T>)
#pragma unroll
            for (int k = 0; k < Op::parameters; k++)
                if (const void *at = op.parameter_at(k, column)) prefetch_global_L2(at);
    }
}

constexpr int row_block(int threads_a_row) {
    return threads_a_row > 128 ? threads_a_row : threads_a_row > 32 ? threads_a_row : 128;
}
/* Threads of an SM that has shifted rows. Two operands of 32 elements a thread need more registers on sm_80, in 16 bits on sm_100a
 * as well, and there clusters that store the joined row as fp32. */
template <class Io, int Elements, bool Cluster>
constexpr int row_shifted_resident(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return Io::joins && Elements > 16 ? 768 : 1024;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    constexpr int bytes = (int)sizeof(typename Io::in);
    return (Io::stores && Cluster && bytes == 4) || (Io::joins && Elements > 16 && bytes == 2) ? 768 : 1024;
#else
    return 1024;
#endif
}
/* Blocks of an SM that registers must suffice for. Rows that two operands make have both in flight: of 32 fp32 elements a
 * thread that is 64 registers. */
template <typename Op, class Io, int Width, int Elements, bool Cluster = false>
constexpr int row_blocks(int threads) {
    constexpr row_shape shape = Op::template shape<typename Io::in>;
    const int resident = Io::shifted  ? row_shifted_resident<Io, Elements, Cluster>()
                         : Width == 1 ? (Cluster && Io::stores ? 768 : 1024)
                         : Io::stores && Elements * sizeof(typename Io::in) > 64 ? 512
                         : Io::joins                                             ? 768
                         : Elements > 32                                         ? 1024
                         : Elements > shape.elements                             ? shape.long_resident
                                                                                 : shape.resident;
    return resident < threads ? 1 : resident / threads;
}

/* Rows that a thread has alone have no ends: else they are moved one by one. */
template <typename Op, class Io, int Width, int Threads, int Elements>
__global__ void __launch_bounds__(row_block(Threads), row_blocks<Op, Io, Width, Elements>(row_block(Threads)))
    row_kernel(Io io, Op op) {
    constexpr int rows = row_block(Threads) / Threads; /* of this block */
    __shared__ row_slots<Threads> slots;
    if (gridDim.x <= ROW_EARLY_BLOCKS) {
        after_previous_launch();
        row_prefetch<typename Io::in>(op, io.n, (int)threadIdx.x, row_block(Threads));
    }
    const int64_t i = rows == 1 ? blockIdx.x : (int64_t)blockIdx.x * rows + threadIdx.x / Threads;
    const auto span = io.template at<Width, int, (Width > 1 && Threads > 1)>(i, rows == 1 || i < io.rows);
    row_held<decltype(span), Threads, Elements, false> row(span, &slots, threadIdx.x % Threads, Threads);
    const auto s = op.of(row);
    row_write(row, op, s);
    if constexpr (Io::fills)
        if (rows == 1 || i < io.rows) io.fill(i, (int)threadIdx.x % Threads, Threads);
}

/* A cluster a row: thread t of block b is thread b Threads + t of the row. Fetch: its parameters, too long for L1, are
 * copied to shared memory while the row is in flight. */
template <typename Op, class Io, int Width, int Threads, int Elements, bool Fetch>
__global__ void __launch_bounds__(Threads, row_blocks<Op, Io, Width, Elements, true>(Threads))
    row_kernel_cluster(Io io, Op op) {
#if __CUDA_ARCH__ >= 900
    using T = typename Io::in;
    __shared__ row_slots<Threads> slots;
    constexpr bool largest = Width == 1 && Threads == ROW_SINGLE_WIDE; /* a constant stride: registers suffice */
    const int blocks = largest ? ROW_CLUSTER_MOST : (int)__clusterSizeInBlocks(),
              rank = (int)__clusterRelativeBlockRank();
    if (gridDim.x <= ROW_EARLY_BLOCKS) {
        after_previous_launch();
        if constexpr (!Fetch) row_prefetch<T>(op, io.n, rank * Threads + (int)threadIdx.x, blocks * Threads);
    }
    const auto span = io.template at<Width, int>(blockIdx.x / blocks, true);
    row_held<decltype(span), Threads, Elements, true> row(span, &slots, rank * Threads + (int)threadIdx.x,
                                                          blocks * Threads);
    if constexpr (Fetch) {
        extern __shared__ uint4 row_memory[];
        auto *fetched = (pack<T, Width> *)row_memory;
        for (int k = 0; k < Op::parameters; k++) row.fetch(fetched + k * (Threads * Elements / Width), op.parameter(k));
        const auto s = op.of(row);
        const Op here = op.in_shared((const T *)row_memory, Threads * Elements);
        cp_async_wait_all();
        if (here.usual(s, 0))
            row.write_fetched([&](auto &v, int64_t at) { here.template finish<ROW_SHARED_USUAL>(v, s, at); });
        else
            row.write([&](auto &v, int64_t column) { op.template finish<ROW_GENERAL>(v, s, column); });
    } else {
        const auto s = op.of(row);
        row_write(row, op, s);
        if constexpr (Io::fills) io.fill(blockIdx.x / blocks, rank * Threads + (int)threadIdx.x, blocks * Threads);
    }
#else
    __trap(); /* launched on devices with clusters alone */
#endif
}

/* A block a row that exactly fills it. */
template <typename Op, typename T, typename U, int Threads, int Elements, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks) row_kernel_filled(row_tensors<T, U> io, Op op) {
    __shared__ row_slots<Threads> slots;
    if (gridDim.x <= ROW_EARLY_BLOCKS) {
        after_previous_launch();
        row_prefetch<T>(op, io.n, (int)threadIdx.x, Threads);
    }
    const int first = (int)threadIdx.x * pack_width<T>;
    const row_whole_span<T, U, pack_width<T>> span{io.x + blockIdx.x * io.x_stride + first,
                                                   io.y + blockIdx.x * io.y_stride + first};
    row_filled<T, U, Threads, Elements, false, 1> row(span, &slots, (int)threadIdx.x);
    row.load();
    const auto s = op.of(row);
    if (op.usual(s, 0))
        row.write([&](auto &v, int64_t at) { op.template finish<ROW_USUAL>(v, s, first + at); });
    else
        row.write([&](auto &v, int64_t at) { op.template finish<ROW_GENERAL>(v, s, first + at); });
}

template <typename Op, class Io, int Width, int Threads, int Elements>
__global__ void __launch_bounds__(Threads, 768 / Threads) row_kernel_reread(Io io, Op op) {
    __shared__ row_slots<Threads> slots;
    const auto span = io.template at<Width, int64_t>(blockIdx.x, true);
    row_reread<decltype(span), Threads, Elements> row(span, &slots, threadIdx.x);
    if constexpr (Io::stores) { /* joined once: an operand may lie where the row is stored */
        row.read();
        __syncthreads();
        const row_written_span<typename Io::in, typename Io::out, Width, int64_t> stored(span.other.stored, span.y,
                                                                                         io.n);
        row_reread<decltype(stored), Threads, Elements> again(stored, &slots, threadIdx.x);
        const auto s = op.of(again);
        row_write(again, op, s);
    } else {
        const auto s = op.of(row);
        row_write(row, op, s);
        if constexpr (Io::fills) io.fill(blockIdx.x, (int)threadIdx.x, Threads);
    }
}

}  // namespace ridge

#endif
