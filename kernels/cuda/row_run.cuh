/* From a call to the kernel that serves its rows: which threads have a row together is decided by its length alone.
 *
 *   columns up to     64  256 | 1024  2048  4096 | 8192  16384 | 32768  65536  131072  262144 | more
 *   threads a row      8   32 |  n/E   n/E   n/E |  n/L    n/L | a cluster of 2, 4, 8, 16      | 256, and read again
 *
 * E, elements a thread, is the operation's choice: where it has registers to spare, few of them and more threads, so
 * that reading, exchanging and writing of several rows overlap; where instructions bind, many, so that what a row costs
 * at all (its ends, its exchanges) is divided among more. L: the same for long rows. A multiprocessor keeps 64 to 128
 * KiB of rows on their way, where about 25 KiB cover the memory's latency. Clusters exist from compute capability 9.0
 * on. Where x and y do not lie alike against 16-byte boundaries, elements are loaded one by one (Width 1), still
 * coalesced.
 *
 * An operation has
 *     struct statistics;
 *     statistics of(Row &row) const;                          see row.cuh for what it may ask of the row
 *     void finish<Usual>(float (&v)[N], statistics s, int64_t column) const;        x[column], … in v become y
 *     bool usual(statistics s, int64_t column) const;         whether the row needs no rescue, and the parameters are
 *                                                             aligned at the body's first column
 *     row_shape shape<T>                                      how its rows are cut up */
#ifndef RIDGE_KERNELS_CUDA_ROW_RUN_CUH
#define RIDGE_KERNELS_CUDA_ROW_RUN_CUH

#include "cuda/launch.cuh"
#include "cuda/row.cuh"

extern "C" {
#include "cuda/row_cases.h"
}

namespace ridge {

template <typename T, typename U>
struct row_tensors {
    const T *x;
    U *y;
    int64_t rows, n, x_stride, y_stride;

    template <int Width, typename Index>
    __device__ row_span<T, U, Width, Index> at(int64_t row, bool exists) const {
        return exists ? row_span<T, U, Width, Index>(x + row * x_stride, y + row * y_stride, (Index)n)
                      : row_span<T, U, Width, Index>(x, y, 0);
    }
};

/* x and y of a call. */
template <typename T>
row_tensors<T, T> row_tensors_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[0]), (T *)ridge_data(&call->out[0]), call->dim[0], call->dim[1],
            ridge_row_stride(&call->in[0]),      ridge_row_stride(&call->out[0])};
}

/* How an operation's rows are cut up. Elements: of a thread, in rows of up to 4096, and in longer ones. Resident: the
 * threads of a multiprocessor that registers must suffice for. */
struct row_shape {
    int elements, resident, long_elements, long_resident;
};

/* What an operation without parameters does is the same for every column. */
struct row_without_parameters {
    static constexpr int parameters = 0;
    template <typename Statistics>
    __device__ bool usual(const Statistics &s, int64_t column) const {
        return s.scale == 1.0f;
    }
};

/* What finish is told: parameters as they come; aligned; aligned and in shared memory. The latter two of rows that need
 * no rescue. */
enum { ROW_GENERAL, ROW_USUAL, ROW_IN_SHARED };

/* Two copies of the writing, so that the usual one does not carry the other's instructions. */
template <typename Row, typename Op, typename Statistics>
__device__ inline void row_write(Row &row, const Op &op, const Statistics &s) {
    if (op.usual(s, row.body_column()))
        row.write([&](auto &v, int64_t column) { op.template finish<ROW_USUAL>(v, s, column); });
    else
        row.write([&](auto &v, int64_t column) { op.template finish<ROW_GENERAL>(v, s, column); });
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

constexpr int row_block(int threads_a_row) {
    return threads_a_row > 128 ? threads_a_row : threads_a_row > 32 ? threads_a_row : 128;
}
/* Blocks of a multiprocessor that registers must suffice for. */
template <typename Op, typename T, int Width, int Elements>
constexpr int row_blocks(int threads) {
    constexpr row_shape shape = Op::template shape<T>;
    const int resident = Width == 1 || Elements > 32 ? 1024
                         : Elements > shape.elements ? shape.long_resident
                                                     : shape.resident;
    return resident < threads ? 1 : resident / threads;
}

template <typename Op, typename T, typename U, int Width, int Threads, int Elements>
__global__ void __launch_bounds__(row_block(Threads), row_blocks<Op, T, Width, Elements>(row_block(Threads)))
    row_kernel(row_tensors<T, U> io, Op op) {
    constexpr int rows = row_block(Threads) / Threads; /* of this block */
    __shared__ row_slots slots;
    const int64_t i = rows == 1 ? blockIdx.x : (int64_t)blockIdx.x * rows + threadIdx.x / Threads;
    const auto span = io.template at<Width, int>(i, rows == 1 || i < io.rows);
    row_held<T, U, Width, Threads, Elements, false> row(span, &slots, threadIdx.x % Threads, Threads);
    const auto s = op.of(row);
    row_write(row, op, s);
}

/* A cluster a row: thread t of block b is thread b Threads + t of the row. Fetch: its parameters, from the second-level
 * cache, where they are too long for the first, are brought to shared memory while the row is on its way. */
template <typename Op, typename T, typename U, int Width, int Threads, int Elements, bool Fetch>
__global__ void __launch_bounds__(Threads, row_blocks<Op, T, Width, Elements>(Threads))
    row_kernel_cluster(row_tensors<T, U> io, Op op) {
#if __CUDA_ARCH__ >= 900
    __shared__ row_slots slots;
    auto cluster = cooperative_groups::this_cluster();
    const int blocks = (int)cluster.num_blocks(), rank = (int)cluster.block_rank();
    const auto span = io.template at<Width, int>(blockIdx.x / blocks, true);
    row_held<T, U, Width, Threads, Elements, true> row(span, &slots, rank * Threads + (int)threadIdx.x,
                                                       blocks * Threads);
    if constexpr (Fetch) {
        extern __shared__ uint4 row_memory[];
        auto *fetched = (pack<T, Width> *)row_memory;
        for (int k = 0; k < Op::parameters; k++) row.fetch(fetched + k * (Threads * Elements / Width), op.parameter(k));
        const auto s = op.of(row);
        const Op here = op.in_shared((const T *)row_memory, Threads * Elements);
        row_fetched();
        if (here.usual(s, 0))
            row.write_fetched([&](auto &v, int64_t at) { here.template finish<ROW_IN_SHARED>(v, s, at); });
        else
            row.write([&](auto &v, int64_t column) { op.template finish<ROW_GENERAL>(v, s, column); });
    } else {
        const auto s = op.of(row);
        row_write(row, op, s);
    }
#endif
}

template <typename Op, typename T, typename U, int Width, int Threads, int Elements>
__global__ void __launch_bounds__(Threads, 768 / Threads) row_kernel_reread(row_tensors<T, U> io, Op op) {
    __shared__ row_slots slots;
    const auto span = io.template at<Width, int64_t>(blockIdx.x, true);
    row_reread<T, U, Width, Threads, Elements> row(span, &slots, threadIdx.x);
    const auto s = op.of(row);
    row_write(row, op, s);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

inline bool row_grid_fits(int64_t blocks) { return blocks <= INT32_MAX; }

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_held(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr int rows = row_block(Threads) / Threads;
    const int64_t blocks = (io.rows + rows - 1) / rows;
    if (!row_grid_fits(blocks)) return RIDGE_UNSUPPORTED;
    row_kernel<Op, T, U, Width, Threads, Elements><<<(unsigned)blocks, row_block(Threads), 0, stream>>>(io, op);
    return launched();
}

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_reread(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if (!row_grid_fits(io.rows)) return RIDGE_UNSUPPORTED;
    row_kernel_reread<Op, T, U, Width, Threads, Elements><<<(unsigned)io.rows, Threads, 0, stream>>>(io, op);
    return launched();
}

/* A launch of `rows` clusters of `blocks` blocks. The attribute is the caller's to keep. */
inline cudaLaunchConfig_t row_cluster_config(int64_t rows, int blocks, int threads, int bytes, cudaStream_t stream,
                                             cudaLaunchAttribute *attribute) {
    *attribute = cudaLaunchAttribute{};
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = (unsigned)blocks;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(rows * blocks));
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

/* The largest cluster of a kernel that this device can have; 0: none. More than 8 blocks is not portable: it is asked
 * for and may be refused. */
inline int row_largest_cluster(const void *kernel, int threads, int bytes) {
    int device = 0, major = 0, blocks = ROW_CLUSTER;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 9)
        return 0;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess) blocks = 8;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess) blocks = 1;
    for (int resident = 0; blocks > 1; blocks /= 2) {
        cudaLaunchAttribute attribute;
        cudaLaunchConfig_t config = row_cluster_config(1, blocks, threads, bytes, 0, &attribute);
        if (cudaOccupancyMaxActiveClusters(&resident, kernel, &config) == cudaSuccess && resident > 0) break;
    }
    (void)cudaGetLastError(); /* a refusal is an answer */
    return blocks > 1 ? blocks : 0;
}

/* Whether rows and parameters are whole packs, all of them. */
template <typename Op, typename T, typename U>
bool row_whole_packs(const row_tensors<T, U> &io, const Op &op) {
    constexpr int W = pack_width<T>;
    bool whole =
        io.n % W == 0 && io.x_stride % W == 0 && io.y_stride % W == 0 && is_aligned16(io.x) && is_aligned16(io.y);
    for (int k = 0; k < Op::parameters; k++) whole = whole && is_aligned16(op.parameter(k));
    return whole;
}

template <int Width, int Threads, int Elements, bool Fetch, typename Op, typename T, typename U>
ridge_status row_run_clusters(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    const auto kernel = row_kernel_cluster<Op, T, U, Width, Threads, Elements, Fetch>;
    const int bytes = Fetch ? Op::parameters * Threads * Elements * (int)sizeof(T) : 0;
    static const int largest = row_largest_cluster((const void *)kernel, Threads, bytes);
    int blocks = 2;
    while ((int64_t)blocks * Threads * Elements < io.n) blocks *= 2;
    if (blocks > largest) return row_run_reread<Width, 256, 16>(io, op, stream);
    if (!row_grid_fits(io.rows * blocks)) return RIDGE_UNSUPPORTED;
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = row_cluster_config(io.rows, blocks, Threads, bytes, stream, &attribute);
    (void)cudaLaunchKernelEx(&config, kernel, io, op);
    return launched();
}

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_cluster(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if constexpr (Op::parameters == 1 && sizeof(T) == 2) /* with more, too few blocks would have room */
        if (row_whole_packs(io, op)) return row_run_clusters<Width, Threads, Elements, true>(io, op, stream);
    return row_run_clusters<Width, Threads, Elements, false>(io, op, stream);
}

/* Whether all rows of x and y can be moved in packs: y is where x is. Of two types, where both are aligned. */
template <typename T, typename U>
bool row_packs(const row_tensors<T, U> &io) {
    const uintptr_t x = (uintptr_t)io.x, y = (uintptr_t)io.y;
    const uintptr_t x_step = (uintptr_t)io.x_stride * sizeof(T), y_step = (uintptr_t)io.y_stride * sizeof(U);
    if (sizeof(T) != sizeof(U)) return (x | y | x_step | y_step) % 16 == 0;
    return (x - y) % 16 == 0 && (x_step - y_step) % 16 == 0;
}

/* Elements that a block holds. */
constexpr int ROW_BLOCK = (int)ROW_CUDA_HELD / (int)ROW_CLUSTER;

template <typename Op, typename T, typename U>
ridge_status row_run(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr int W = pack_width<T>;
    const int64_t n = io.n;
    if (io.rows == 0) return RIDGE_OK;
    if (!row_packs(io)) {
        if (n <= 32 * 8) return row_run_held<1, 32, 8>(io, op, stream);
        if (n <= 256 * 16) return row_run_held<1, 256, 16>(io, op, stream);
        return row_run_reread<1, 256, 16>(io, op, stream);
    }
    if (n <= 8 * 8) return row_run_held<W, 8, 8>(io, op, stream);
    if (n <= 32 * 8) return row_run_held<W, 32, 8>(io, op, stream);
    constexpr int E = Op::template shape<T>.elements;
    if (n <= 1024) return row_run_held<W, 1024 / E, E>(io, op, stream);
    if (n <= 2048) return row_run_held<W, 2048 / E, E>(io, op, stream);
    if (n <= 4096) return row_run_held<W, 4096 / E, E>(io, op, stream);
    constexpr int L = Op::template shape<T>.long_elements, block = ROW_BLOCK / L;
    if (n <= ROW_BLOCK / 2) return row_run_held<W, block / 2, L>(io, op, stream);
    if (n <= ROW_BLOCK) return row_run_held<W, block, L>(io, op, stream);
    constexpr int C = W == 8 ? 64 : 32; /* 128 bytes a thread */
    if (n <= ROW_CUDA_HELD) return row_run_cluster<W, ROW_BLOCK / C, C>(io, op, stream);
    return row_run_reread<W, 256, 16>(io, op, stream);
}

/* The same by reading every row once for each reduction and once more: for rows of any length, and for baselines. */
template <typename Op, typename T, typename U>
ridge_status row_run_passes(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if (io.rows == 0) return RIDGE_OK;
    if (!row_packs(io)) return row_run_reread<1, 256, 16>(io, op, stream);
    return row_run_reread<pack_width<T>, 256, 16>(io, op, stream);
}

/* N elements of a parameter that has one for every column. How: see ROW_USUAL. */
template <int How, typename T, int N>
__device__ inline void row_parameter(const T *p, float (&v)[N]) {
    pack<T, N> in;
    if constexpr (How == ROW_IN_SHARED && N == pack_width<T>) {
        in = *(const pack<T, N> *)p;
    } else if constexpr (How == ROW_USUAL && N == pack_width<T>) {
        union {
            uint4 bits;
            pack<T, N> elements;
        } u = {__ldg((const uint4 *)p)};
        in = u.elements;
    } else {
#pragma unroll
        for (int e = 0; e < N; e++) in.v[e] = p[e];
    }
    row_unpack(in, v);
}

}  // namespace ridge

#endif
