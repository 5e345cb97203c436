/* Launches of the kernels of rows. rows/ways.h decides which threads share a row.
 *
 * E, elements a thread, is the operation's choice. Few, with more threads, let reading, exchanging and writing of
 * several rows overlap; many divide the fixed cost of a row (ends, exchanges) where the operation is compute-bound. L:
 * the same for long rows. An SM keeps 64 to 128 KiB of rows in flight, where about 25 KiB cover the memory's latency.
 * Clusters exist from compute capability 9.0 on. Where x and y do not lie alike against 16-byte boundaries, packs are
 * shifted (row_shifted_span), or elements are loaded one by one (Width 1), still coalesced.
 *
 * An operation has
 *     struct statistics;
 *     statistics of(Row &row) const;                          with the row's functions of rows/row.cuh
 *     void finish<Usual>(float (&v)[N], statistics s, Column column) const;         x[column], … in v become y; of
 *                                                             single elements, column is a row_apart
 *     bool usual(statistics s, int64_t column) const;         whether the row needs no rescue, and the parameters are
 *                                                             aligned at the body's first column
 *     row_shape shape<T>                                      how its rows are cut up */
#ifndef RIDGE_KERNELS_CUDA_ROWS_RUN_CUH
#define RIDGE_KERNELS_CUDA_ROWS_RUN_CUH

#include "cuda/host/view.cuh"
#include "cuda/rows/kernels.cuh"
#include "cuda/rows/persistent.cuh"
#include "cuda/rows/staged.cuh"

namespace ridge {

inline bool row_grid_fits(int64_t blocks) { return blocks <= INT32_MAX; }

/* Launches a kernel that begins with after_previous_launch: where the device can, it is set up while the launch before
 * it still runs. */
template <class Io, typename Op>
ridge_status row_launch_early(void (*kernel)(Io, Op), const launch_shape &shape, cudaStream_t stream, const Io &io,
                              const Op &op) {
    static per_device<bool> overlaps;
    return launch_overlapping(kernel, shape, stream, overlaps.get(device_overlaps), io, op);
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

template <int Width, int Threads, int Elements, typename Op, class Io>
ridge_status row_run_held(const Io &io, const Op &op, cudaStream_t stream) {
    constexpr int rows = row_block(Threads) / Threads;
    const int64_t blocks = (io.rows + rows - 1) / rows;
    if (!row_grid_fits(blocks)) return RIDGE_UNSUPPORTED;
    const auto kernel = row_kernel<Op, Io, Width, Threads, Elements>;
    const launch_shape shape = {dim3((unsigned)blocks), row_block(Threads)};
    if (blocks <= ROW_EARLY_BLOCKS) return row_launch_early(kernel, shape, stream, io, op);
    return launch(kernel, shape, stream, io, op);
}

/* A thread a row. */
template <typename Op, class Io>
ridge_status row_run_thread(const Io &io, const Op &op, cudaStream_t stream) {
    if (io.whole()) return row_run_held<pack_width<typename Io::in>, 1, ROW_THREAD_MOST>(io, op, stream);
    return row_run_held<1, 1, ROW_THREAD_MOST>(io, op, stream);
}

/* Part of a warp a row: threads and elements as row_lanes_of has them. */
template <typename Op, class Io>
ridge_status row_run_lanes(const Io &io, const Op &op, cudaStream_t stream) {
    constexpr int W = pack_width<typename Io::in>;
    const row_lane_shape shape = row_lanes_of(io.n);
    if (shape.threads == 4) return row_run_held<W, 4, 8>(io, op, stream);
    if (shape.elements == 8) return row_run_held<W, 8, 8>(io, op, stream);
    return shape.threads == 8 ? row_run_held<W, 8, 16>(io, op, stream) : row_run_held<W, 16, 16>(io, op, stream);
}

/* More threads than a row of an operation with many elements a thread would have. */
template <typename Op, class Io>
ridge_status row_run_spread(const Io &io, const Op &op, cudaStream_t stream) {
    constexpr int W = pack_width<typename Io::in>, E = ROW_SPREAD_ELEMENTS;
    switch (row_block_most(io.n)) {
        case 1024: return row_run_held<W, 1024 / E, E>(io, op, stream);
        case 2048: return row_run_held<W, 2048 / E, E>(io, op, stream);
        case 4096: return row_run_held<W, 4096 / E, E>(io, op, stream);
        default: return row_run_held<W, 8192 / E, E>(io, op, stream);
    }
}

/* Rows in shared memory (rows/staged.cuh). */
template <int Lanes, typename Op, class Io>
ridge_status row_run_staged_by(const Io &io, const Op &op, cudaStream_t stream) {
    constexpr int rows = ROW_STAGED_THREADS / Lanes;
    const int64_t blocks = (io.rows + rows - 1) / rows;
    if (!row_grid_fits(blocks)) return RIDGE_UNSUPPORTED;
    const auto kernel = row_kernel_staged<Op, Io, Lanes>;
    const launch_shape shape = {dim3((unsigned)blocks), ROW_STAGED_THREADS,
                                Io::reads * row_staged_room<typename Io::in>(rows * (int)io.n) * ROW_PACK_BYTES};
    if (blocks <= ROW_EARLY_BLOCKS) return row_launch_early(kernel, shape, stream, io, op);
    return launch(kernel, shape, stream, io, op);
}
template <typename Op, class Io>
ridge_status row_run_staged(const Io &io, const Op &op, cudaStream_t stream) {
    switch (row_staged_lanes(io.n)) {
        case 1: return row_run_staged_by<1>(io, op, stream);
        case 2: return row_run_staged_by<2>(io, op, stream);
        case 4: return row_run_staged_by<4>(io, op, stream);
        case 8: return row_run_staged_by<8>(io, op, stream);
        case 16: return row_run_staged_by<16>(io, op, stream);
        default: return row_run_staged_by<32>(io, op, stream);
    }
}

/* Rows of whole packs that exactly fill their threads, of more than one warp. */
template <int Threads, int Elements, typename Op, typename T, typename U>
ridge_status row_run_filled(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr row_shape shape = Op::template shape<T>;
    if constexpr (shape.filled > 0 && Threads > 32) {
        constexpr int resident = Threads * Elements > ROW_SINGLE_MOST && shape.long_resident < shape.filled
                                     ? shape.long_resident
                                     : shape.filled;
        constexpr int blocks = resident / Threads;
        if (!row_grid_fits(io.rows)) return RIDGE_UNSUPPORTED;
        const auto kernel = row_kernel_filled<Op, T, U, Threads, Elements, blocks>;
        const launch_shape shape = {dim3((unsigned)io.rows), Threads};
        if (io.rows <= ROW_EARLY_BLOCKS) return row_launch_early(kernel, shape, stream, io, op);
        return launch(kernel, shape, stream, io, op);
    }
    return RIDGE_UNSUPPORTED;
}

template <int Width, int Threads, int Elements, typename Op, class Io>
ridge_status row_run_reread(const Io &io, const Op &op, cudaStream_t stream) {
    if (!row_grid_fits(io.rows)) return RIDGE_UNSUPPORTED;
    return launch(row_kernel_reread<Op, Io, Width, Threads, Elements>, {dim3((unsigned)io.rows), Threads}, stream, io,
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

/* Persistent clusters (rows/persistent.cuh), as many as fit on the device. */
template <typename Op, typename T, typename U>
ridge_status row_run_persistent(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr int threads = ROW_PERSISTENT_THREADS * ROW_PERSISTENT_GROUPS, bytes = row_persistent_bytes<Op, T>;
    const auto room = [](int blocks) {
        return row_resident_clusters((const void *)row_kernel_persistent<Op, T, U>, blocks, threads, bytes);
    };
    struct rooms {
        int of[4]; /* clusters of 2, 4, 8, 16 blocks */
    };
    static per_device<rooms> resident;
    const rooms here = resident.get([&] { return rooms{{room(2), room(4), room(8), room(16)}}; });
    const int blocks = (int)(io.n * (int64_t)sizeof(T) / ROW_PERSISTENT_SLICE);
    const int clusters = here.of[blocks == 2 ? 0 : blocks == 4 ? 1 : blocks == 8 ? 2 : 3];
    if (clusters == 0) return RIDGE_UNSUPPORTED;
    return launch(row_kernel_persistent<Op, T, U>, row_cluster_shape(clusters, blocks, threads, bytes), stream, io, op);
}

template <int Width, int Threads, int Elements, bool Fetch, typename Op, class Io>
ridge_status row_run_clusters(const Io &io, const Op &op, cudaStream_t stream) {
    const auto kernel = row_kernel_cluster<Op, Io, Width, Threads, Elements, Fetch>;
    const int bytes = Fetch ? Op::parameters * Threads * Elements * (int)sizeof(typename Io::in) : 0;
    static per_device<int> known;
    const int largest = known.get([&] { return row_largest_cluster((const void *)kernel, Threads, bytes); });
    int blocks = 2;
    while ((int64_t)blocks * Threads * Elements < io.n) blocks *= 2;
    if (blocks > largest || !row_grid_fits(io.rows * blocks)) return RIDGE_UNSUPPORTED;
    const launch_shape shape = row_cluster_shape(io.rows, blocks, Threads, bytes);
    if (io.rows * blocks <= ROW_EARLY_BLOCKS) return row_launch_early(kernel, shape, stream, io, op);
    return launch(kernel, shape, stream, io, op);
}

/* Elements one by one; threads as row_single_of has them. */
template <typename Op, class Io>
ridge_status row_run_single(const Io &io, const Op &op, cudaStream_t stream) {
    if (io.n > ROW_SINGLE_CLUSTER) return row_run_clusters<1, ROW_SINGLE_WIDE, 16, false>(io, op, stream);
    if (io.n > ROW_SINGLE_BLOCK) return row_run_clusters<1, 512, 16, false>(io, op, stream);
    switch (row_single_of(io.n).threads) {
        case 8: return row_run_held<1, 8, 8>(io, op, stream);
        case 32: return io.n <= 256 ? row_run_held<1, 32, 8>(io, op, stream) : row_run_held<1, 32, 16>(io, op, stream);
        case 64: return row_run_held<1, 64, 16>(io, op, stream);
        case 256: return row_run_held<1, 256, 16>(io, op, stream);
        default: return row_run_held<1, 512, 16>(io, op, stream);
    }
}

/* Elements of a thread of long rows whose packs are shifted: 64 bytes, or as many as the operation says. */
template <typename Op, typename T>
constexpr int row_of_shifted = [] {
    if constexpr (requires { Op::of_shifted; })
        return Op::of_shifted;
    else
        return ROW_SHIFTED_BYTES / (int)sizeof(T);
}();

/* Rows whose operands lie differently from y: threads as row_shifted_of has them, but for the operation's elements. */
template <typename Op, class Io>
ridge_status row_run_shifted(const Io &rows, const Op &op, cudaStream_t stream) {
    constexpr int W = pack_width<typename Io::in>, C = row_of_shifted<Op, typename Io::in>;
    constexpr int of_block = ROW_SHIFTED_THREADS * C, of_cluster = of_block * ROW_CLUSTER_MOST;
    const row_shifted<Io> io = {rows};
    if constexpr (of_cluster < ROW_CUDA_HELD && !(Io::stores && W == 4))
        if (io.n > of_cluster) return row_run_clusters<W, ROW_BLOCK_MOST / C, C, false>(io, op, stream);
    if (io.n > of_block) return row_run_clusters<W, ROW_SHIFTED_THREADS, C, false>(io, op, stream);
    if (io.n <= 512) return row_run_held<W, 32, 16>(io, op, stream);
    if (io.n <= 2048) return row_run_held<W, 128, 16>(io, op, stream);
    if (io.n <= 4096) return row_run_held<W, 4096 / C, C>(io, op, stream);
    if (io.n <= 8192) return row_run_held<W, 8192 / C, C>(io, op, stream);
    return row_run_held<W, ROW_SHIFTED_THREADS, C>(io, op, stream);
}

template <typename Op, typename T>
constexpr row_cut row_cut_of = {Op::template shape<T>.elements, Op::template shape<T>.long_elements,
                                Op::template shape<T>.filled > 0};

/* Whether parameters can be kept in shared memory: by persistent clusters, and by those that fetch. */
template <typename Op, typename T>
constexpr bool row_keeps_parameters = requires(const Op &op, const T *p) {
    op.in_shared(p, 0);
};

/* Whether a target's table of ways says what its operation is. Op32, Op16: for types of four and of two bytes. */
constexpr bool row_cuts_equal(row_cut a, row_cut b) {
    return a.elements == b.elements && a.long_elements == b.long_elements && a.filled == b.filled;
}
template <class Op32, class Op16>
constexpr bool row_traits_are(row_traits t) {
    return t.parameters == Op32::parameters && t.keeps == row_keeps_parameters<Op32, float> &&
           row_cuts_equal(t.of_4, row_cut_of<Op32, float>) && row_cuts_equal(t.of_2, row_cut_of<Op16, __half>);
}

static_assert((int)ROW_CLUSTER_MOST == (int)ROW_CLUSTER);

/* ---- ways (rows/ways.h) ---- */

/* Elements of a cluster's thread: 128 bytes, or as many as the operation says. */
template <typename Op, typename T>
constexpr int row_of_cluster = [] {
    if constexpr (requires { Op::of_cluster; })
        return Op::of_cluster;
    else
        return 128 / (int)sizeof(T);
}();

/* Threads of a block that has rows of n elements. */
template <int E, int L, typename F>
ridge_status row_with_threads(int64_t n, const F &f) {
    switch (row_block_most(n)) {
        case 1024: return f.template operator()<1024 / E, E>();
        case 2048: return f.template operator()<2048 / E, E>();
        case ROW_SINGLE_MOST: return f.template operator()<ROW_SINGLE_MOST / E, E>();
        case ROW_BLOCK_MOST / 2: return f.template operator()<ROW_BLOCK_MOST / 2 / L, L>();
        default: return f.template operator()<ROW_BLOCK_MOST / L, L>();
    }
}

/* Ways of rows that are x alone. */
template <typename Op, typename T, typename U>
ridge_status row_run_plain(int way, const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    constexpr int W = pack_width<T>, C = row_of_cluster<Op, T>;
    constexpr int E = Op::template shape<T>.elements, L = Op::template shape<T>.long_elements;
    switch (way) {
        case ROW_WAY_FILLED:
            return row_with_threads<E, L>(
                io.n, [&]<int Threads, int Elements>() { return row_run_filled<Threads, Elements>(io, op, stream); });
        case ROW_WAY_PERSISTENT:
            if constexpr (row_keeps_parameters<Op, T>) return row_run_persistent(io, op, stream);
            return RIDGE_UNSUPPORTED;
        default: /* ROW_WAY_FETCH; with more parameters too few blocks would have room */
            if constexpr (row_keeps_parameters<Op, T> && sizeof(T) == 2)
                if constexpr (Op::parameters == 1)
                    return row_run_clusters<W, ROW_BLOCK_MOST / C, C, true>(io, op, stream);
            return RIDGE_UNSUPPORTED;
    }
}

template <typename Op, class Io>
ridge_status row_run_as(int way, const Io &io, const Op &op, cudaStream_t stream) {
    using T = typename Io::in;
    constexpr int W = pack_width<T>, C = row_of_cluster<Op, T>;
    constexpr int E = Op::template shape<T>.elements, L = Op::template shape<T>.long_elements;
    const int64_t n = io.n;
    if (io.rows == 0) return RIDGE_OK;
    switch (way) {
        case ROW_WAY_STAGED:
            if constexpr (std::is_same_v<T, typename Io::out> && !Io::fills) return row_run_staged(io, op, stream);
            return RIDGE_UNSUPPORTED;
        case ROW_WAY_THREAD: return row_run_thread(io, op, stream);
        case ROW_WAY_SINGLE:
            if constexpr (requires { op.any(); })
                return row_run_single(io, op.any(), stream);
            else
                return row_run_single(io, op, stream);
        case ROW_WAY_SHIFTED:
            if constexpr (std::is_same_v<T, typename Io::out>) return row_run_shifted(io, op, stream);
            return RIDGE_UNSUPPORTED;
        case ROW_WAY_LANES: return row_run_lanes(io, op, stream);
        case ROW_WAY_WARP:
            if (row_warp_of(n).elements == 8) return row_run_held<W, 32, 8>(io, op, stream);
            return row_run_held<W, 32, 16>(io, op, stream);
        case ROW_WAY_SPREAD:
            if constexpr (E > ROW_SPREAD_ELEMENTS) return row_run_spread(io, op, stream);
            return RIDGE_UNSUPPORTED;
        case ROW_WAY_BLOCK:
            return row_with_threads<E, L>(
                n, [&]<int Threads, int Elements>() { return row_run_held<W, Threads, Elements>(io, op, stream); });
        case ROW_WAY_CLUSTER: return row_run_clusters<W, ROW_BLOCK_MOST / C, C, false>(io, op, stream);
        case ROW_WAY_REREAD:
            if (!io.packs()) return row_run_reread<1, 256, 16>(io, op, stream);
            return row_run_reread<W, 256, 16>(io, op, stream);
        default:
            if constexpr (!Io::joins && !Io::fills) return row_run_plain(way, io, op, stream);
            return RIDGE_UNSUPPORTED;
    }
}

/* Of a call that came by a way. */
template <typename Op, class Io>
ridge_status row_run(const ridge_call *call, const Io &io, const Op &op) {
    return row_run_as(call->way->number, io, op, stream_of(call));
}

/* Rows that are a step of something else: by the cheapest way that takes them. */
template <typename Op, typename T, typename U>
ridge_status row_run(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    const row_facts facts = {io.rows,
                             io.n,
                             (int)sizeof(T),
                             io.packs(),
                             row_whole_packs(io, op),
                             io.piece(),
                             std::is_same_v<T, U>,
                             Op::parameters,
                             row_keeps_parameters<Op, T>,
                             row_cut_of<Op, T>,
                             2,
                             device_capability(),
                             device_limit(cudaDevAttrMultiProcessorCount)};
    for (unsigned tried = 0;;) {
        int best = -1;
        for (int way = 0; way < ROW_WAY_COUNT; way++)
            if (!(tried >> way & 1) && !row_way_refusal(way, &facts) &&
                (best < 0 || row_way_time(way, &facts) < row_way_time(best, &facts)))
                best = way;
        if (best < 0) return RIDGE_UNSUPPORTED;
        const ridge_status status = row_run_as(best, io, op, stream);
        if (status != RIDGE_UNSUPPORTED) return status;
        tried |= 1u << best;
    }
}

/* The same by reading every row once for each reduction and once more: for rows of any length, and for baselines. */
template <typename Op, typename T, typename U>
ridge_status row_run_passes(const row_tensors<T, U> &io, const Op &op, cudaStream_t stream) {
    if (io.rows == 0) return RIDGE_OK;
    if (!io.packs()) return row_run_reread<1, 256, 16>(io, op, stream);
    return row_run_reread<pack_width<T>, 256, 16>(io, op, stream);
}

/* N elements of a parameter that has one for every column, from column `at` on. How: see ROW_USUAL. Those that are not
 * aligned, not by __ldg: on sm_100a the compiler would move loads of several packs together and run out of registers.
 */
template <int How, typename T, int N>
__device__ inline void row_parameter(const T *p, int64_t at, float (&v)[N]) {
    if constexpr (How == ROW_USUAL && N == 2 * pack_width<T>) { /* wider than the row's elements */
        float low[N / 2], high[N / 2];
        row_parameter<How>(p, at, low), row_parameter<How>(p, at + N / 2, high);
#pragma unroll
        for (int e = 0; e < N / 2; e++) v[e] = low[e], v[e + N / 2] = high[e];
        return;
    }
    pack<T, N> in;
    if constexpr (row_is_shared(How)) {
        in = *(const pack<T, N> *)(p + at);
    } else if constexpr (How == ROW_USUAL && N == pack_width<T>) {
        union {
            uint4 bits;
            pack<T, N> elements;
        } u = {__ldg((const uint4 *)(p + at))};
        in = u.elements;
    } else {
#pragma unroll
        for (int e = 0; e < N; e++) in.v[e] = p[at + e];
    }
    unpack(in, v);
}
/* The same of shifted rows: parameters that are not aligned, by two packs. */
template <int How, typename T, int N, typename Index>
__device__ inline void row_parameter(const T *p, row_inside<Index> at, float (&v)[N]) {
    if constexpr (How == ROW_USUAL) {
        row_parameter<How>(p, at.first, v);
    } else {
        constexpr int W = pack_width<T>;
        static_assert(N % W == 0, "whole packs");
        const pack_shifter<T> shift(p + at.first);
#pragma unroll
        for (int k = 0; k < N / W; k++) {
            float part[W];
            unpack(elements_of<T, W>(shift.of(shift.load(k, true))), part);
#pragma unroll
            for (int e = 0; e < W; e++) v[k * W + e] = part[e];
        }
    }
}
/* The same of elements that are moved one by one. Not by __ldg: the compiler would put a load that may go anywhere
 * behind the store of the element before it. */
template <int, typename T, int N, typename Index>
__device__ inline void row_parameter(const T *p, row_apart<Index> at, float (&v)[N]) {
#pragma unroll
    for (int e = 0; e < N; e++) v[e] = to_float(p[at.at(e)]);
}

}  // namespace ridge

#endif
