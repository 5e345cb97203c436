/* From a call to a kernel for its rows. The length of a row alone decides how many threads share it.
 *
 *   columns up to     64  256 | 1024  2048  4096 | 8192  16384 | 32768  65536  131072  262144 | more
 *   threads a row      8   32 |  n/E   n/E   n/E |  n/L    n/L | a cluster of 2, 4, 8, 16      | 256, and read again
 *
 * E, elements a thread, is the operation's choice. Few, with more threads, let reading, exchanging and writing of
 * several rows overlap; many divide the fixed cost of a row (ends, exchanges) where the operation is compute-bound. L:
 * the same for long rows. An SM keeps 64 to 128 KiB of rows in flight, where about 25 KiB cover the memory's latency.
 * Clusters exist from compute capability 9.0 on. Many rows of several blocks, all aligned and with parameters, go
 * through persistent clusters (rows/persistent.cuh). Where x and y do not lie alike against 16-byte boundaries,
 * elements are loaded one by one (Width 1), still coalesced.
 *
 * An operation has
 *     struct statistics;
 *     statistics of(Row &row) const;                          with the row's functions of rows/row.cuh
 *     void finish<Usual>(float (&v)[N], statistics s, int64_t column) const;        x[column], … in v become y
 *     bool usual(statistics s, int64_t column) const;         whether the row needs no rescue, and the parameters are
 *                                                             aligned at the body's first column
 *     row_shape shape<T>                                      how its rows are cut up */
#ifndef RIDGE_KERNELS_CUDA_ROWS_RUN_CUH
#define RIDGE_KERNELS_CUDA_ROWS_RUN_CUH

#include "cuda/host/view.cuh"
#include "cuda/rows/kernels.cuh"
#include "cuda/rows/persistent.cuh"

extern "C" {
#include "cuda/rows/cases.h"
}

namespace ridge {

/* Up to which all rows are in flight at once, if they are not long. */
constexpr int64_t ROW_FEW = 256;

inline bool row_grid_fits(int64_t blocks) { return blocks <= INT32_MAX; }

/* Launches a kernel that begins with after_previous_launch: where the device can, it is set up while the launch before
 * it still runs. 128 rows of 4096 fp32 in a graph save 0.3 of 3 us; many rows lose 1 %.
 */
template <typename T, typename U, typename Op>
ridge_status row_launch_early(void (*kernel)(row_tensors<T, U>, Op), int64_t blocks, int threads, cudaStream_t stream,
                              const row_tensors<T, U> &io, const Op &op) {
    static per_device<bool> overlaps;
    return launch_overlapping(kernel, {dim3((unsigned)blocks), threads}, stream, overlaps.get(device_overlaps), io, op);
}

/* Whether rows and parameters are whole packs, all of them. */
template <typename Op, typename T, typename U>
bool row_whole_packs(const row_tensors<T, U> &io, const Op &op) {
    constexpr int W = pack_width<T>;
    bool whole =
        io.n % W == 0 && io.x_stride % W == 0 && io.y_stride % W == 0 && is_aligned16(io.x) && is_aligned16(io.y);
    if constexpr (Op::parameters > 0)
        for (int k = 0; k < Op::parameters; k++) whole = whole && is_aligned16(op.parameter(k));
    return whole;
}

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_held(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr int rows = row_block(Threads) / Threads;
    const int64_t blocks = (io.rows + rows - 1) / rows;
    if (!row_grid_fits(blocks)) return RIDGE_UNSUPPORTED;
    return launch(row_kernel<Op, T, U, Width, Threads, Elements>, {dim3((unsigned)blocks), row_block(Threads)}, stream,
                  io, op);
}

/* Of rows in packs, of more than one warp. */
template <int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_block(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr row_shape shape = Op::template shape<T>;
    if constexpr (shape.filled > 0 && Threads > 32) {
        constexpr int resident =
            Threads * Elements > 4096 && shape.long_resident < shape.filled ? shape.long_resident : shape.filled;
        constexpr int blocks = resident / Threads;
        if (io.n == Threads * Elements && row_grid_fits(io.rows) && row_whole_packs(io, op)) {
            if (io.rows <= ROW_FEW)
                return row_launch_early(row_kernel_filled<Op, T, U, Threads, Elements, blocks, true>, io.rows, Threads,
                                        stream, io, op);
            return launch(row_kernel_filled<Op, T, U, Threads, Elements, blocks, false>,
                          {dim3((unsigned)io.rows), Threads}, stream, io, op);
        }
    }
    return row_run_held<pack_width<T>, Threads, Elements>(io, op, stream);
}

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_reread(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if (!row_grid_fits(io.rows)) return RIDGE_UNSUPPORTED;
    return launch(row_kernel_reread<Op, T, U, Width, Threads, Elements>, {dim3((unsigned)io.rows), Threads}, stream, io,
                  op);
}

/* `clusters` clusters of `blocks` blocks. */
inline launch_shape row_cluster_shape(int64_t clusters, int blocks, int threads, int bytes) {
    return {dim3((unsigned)(clusters * blocks)), threads, bytes, blocks};
}

/* The largest cluster of a kernel that fits on this device; 0: none. More than 8 blocks is not portable: it is asked
 * for and may be refused. */
inline int row_largest_cluster(const void *kernel, int threads, int bytes) {
    int blocks = ROW_CLUSTER;
    if (device_capability() < 90) return 0;
    if (allow_large_clusters(kernel) != cudaSuccess) blocks = 8;
    if (allow_shared(kernel, bytes) != cudaSuccess) blocks = 1;
    for (int resident = 0; blocks > 1; blocks /= 2)
        if (resident_clusters(&resident, kernel, row_cluster_shape(1, blocks, threads, bytes)) == cudaSuccess &&
            resident > 0)
            break;
    (void)cudaGetLastError(); /* a refusal is an answer */
    return blocks > 1 ? blocks : 0;
}

/* Clusters of a kernel that fit on the device at once; 0: it cannot have them. */
inline int row_resident_clusters(const void *kernel, int blocks, int threads, int bytes) {
    int resident = 0;
    if (device_capability() < 90 || allow_large_clusters(kernel) != cudaSuccess ||
        allow_shared(kernel, bytes) != cudaSuccess ||
        resident_clusters(&resident, kernel, row_cluster_shape(1, blocks, threads, bytes)) != cudaSuccess)
        resident = 0;
    (void)cudaGetLastError(); /* a refusal is an answer */
    return resident;
}

/* Rows enough for persistent clusters (rows/persistent.cuh), of 2, 4, 8 or 16 whole slices: those clusters; else 0. */
template <typename Op, typename T, typename U>
int row_persistent_clusters(const row_tensors<T, U> &io, const Op &op) {
    constexpr int slice = ROW_PERSISTENT_SLICE / (int)sizeof(T),
                  threads = ROW_PERSISTENT_THREADS * ROW_PERSISTENT_GROUPS;
    const auto room = [](int blocks) {
        return row_resident_clusters((const void *)row_kernel_persistent<Op, T, U>, blocks, threads,
                                     row_persistent_bytes<Op, T>);
    };
    struct rooms {
        int of[4];
    };
    static per_device<rooms> resident;
    const rooms here = resident.get([&] { return rooms{{room(2), room(4), room(8), room(16)}}; });
    for (int k = 0; k < 4; k++)
        if (io.n == (int64_t)slice * (2 << k) && io.rows >= 2 * ROW_PERSISTENT_GROUPS * here.of[k] &&
            io.rows <= INT32_MAX / 2 && row_whole_packs(io, op))
            return here.of[k];
    return 0;
}

template <typename Op, typename T, typename U>
ridge_status row_run_persistent(const row_tensors<T, U> &io, const Op &op, int clusters, cudaStream_t stream) {
    const int blocks = (int)(io.n * (int64_t)sizeof(T) / ROW_PERSISTENT_SLICE);
    return launch(row_kernel_persistent<Op, T, U>,
                  row_cluster_shape(clusters, blocks, ROW_PERSISTENT_THREADS * ROW_PERSISTENT_GROUPS,
                                    row_persistent_bytes<Op, T>),
                  stream, io, op);
}

template <int Width, int Threads, int Elements, bool Fetch, typename Op, typename T, typename U>
ridge_status row_run_clusters(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    const auto kernel = row_kernel_cluster<Op, T, U, Width, Threads, Elements, Fetch>;
    const int bytes = Fetch ? Op::parameters * Threads * Elements * (int)sizeof(T) : 0;
    static per_device<int> known;
    const int largest = known.get([&] { return row_largest_cluster((const void *)kernel, Threads, bytes); });
    int blocks = 2;
    while ((int64_t)blocks * Threads * Elements < io.n) blocks *= 2;
    if (blocks > largest) return row_run_reread<Width, 256, 16>(io, op, stream);
    if (!row_grid_fits(io.rows * blocks)) return RIDGE_UNSUPPORTED;
    return launch(kernel, row_cluster_shape(io.rows, blocks, Threads, bytes), stream, io, op);
}

template <int Width, int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_cluster(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if constexpr (Op::parameters > 0)
        if (const int clusters = row_persistent_clusters(io, op)) return row_run_persistent(io, op, clusters, stream);
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
    if (n <= 1024) return row_run_block<1024 / E, E>(io, op, stream);
    if (n <= 2048) return row_run_block<2048 / E, E>(io, op, stream);
    if (n <= 4096) return row_run_block<4096 / E, E>(io, op, stream);
    constexpr int L = Op::template shape<T>.long_elements, block = ROW_BLOCK / L;
    if (n <= ROW_BLOCK / 2) return row_run_block<block / 2, L>(io, op, stream);
    if (n <= ROW_BLOCK) return row_run_block<block, L>(io, op, stream);
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
    if constexpr (row_is_shared(How) && N == pack_width<T>) {
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
    unpack(in, v);
}

}  // namespace ridge

#endif
