/* A tile of C[m, n] = sum over k of A[m, k] B[n, k] by fp32 multiply-adds, for any types, order and alignment: how the
 * threads of a block share it.
 *
 * A tile is `side` x `side`. Its groups of 2 side threads take turns along the depth, a slice at a time; a group's
 * slices go from memory to registers while the one before is multiplied, from there to shared memory, and every thread
 * multiplies its `rows` x `columns` of the tile. Where there are several groups their sums are added in the groups'
 * order. No sum is a chain of more than ANY_CHAIN products: chains are added to the sum of those before.
 *
 * Where a product has too few tiles, a cluster has one of them together, a share of the depth in every block. Then each
 * block adds all blocks' sums of some of the rows, in the blocks' order, and finishes those. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_TILE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_ANY_TILE_CUH

#include "cuda/host/view.cuh"
#include "cuda/mma/ffma.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cluster.cuh"

namespace ridge {

constexpr int ANY_DEPTH = 1 << 30; /* at most */

/* Element (row, k) is base[row * line + k * step]; line or step is 1, or there is one row or one k. `next` elements on
 * are those of the next of several matrices. */
template <typename T>
struct any_matrix {
    const T *base;
    int64_t line, step, next, leap; /* leap: of eight steps */
    bool by_step, wide;             /* neighbours in memory: along the depth; four of them can be read at once */

    any_matrix(const matrix_view &m, int64_t next_one = 0)
        : base((const T *)m.base),
          line(m.line),
          step(m.step),
          next(next_one),
          leap(8 * m.step),
          by_step(m.step == 1 || m.columns == 1) {
        const bool unit = by_step || line == 1;
        wide = unit && (uintptr_t)m.base % sizeof(pack<T, 4>) == 0 && (by_step ? line : step) % 4 == 0 && next % 4 == 0;
    }
};

/* A thread's part of a finished tile, for an epilogue: v[rows][columns], some of them beyond the matrix. A
 * row's `span` neighbouring columns are with lanes whose numbers differ in row_lanes. Shared: by a cluster. */
template <class S, bool Shared = false>
struct any_place {
    static constexpr bool merged = S::groups > 1;
    static constexpr int each = S::side * S::side / ANY_THREADS; /* merged: elements, of up to 4 x 4 */
    static constexpr int columns = !merged ? S::columns : each < 4 ? each : 4;
    static constexpr int rows = !merged ? S::rows : Shared ? 1 : each / columns;
    static constexpr int row_leap = S::row_leap, column_leap = S::column_leap;
    static constexpr int threads_across = S::side / columns;                 /* merged */
    static constexpr unsigned row_lanes = merged ? threads_across - 1 : 0xe; /* as any_sums has them */
    static constexpr int span = merged ? S::side : S::side / S::across, spans = S::side / span;
    static_assert(merged ? threads_across == 16 && rows <= 4 : S::lane_rows == 4);

    int64_t first_row, first_column;
    int unit;
    bool is_first; /* tile of the unit */

    __device__ int64_t row(int i) const { return first_row + i % 4 + i / 4 * row_leap; }
    __device__ int64_t column(int j) const { return first_column + j % 4 + j / 4 * column_leap; }
    __device__ int64_t span_of(void) const { return first_column / span; }
    __device__ int64_t part_of(void) const { return (int64_t)unit * spans + span_of() % spans; }
    __device__ bool leads_row(void) const { return (threadIdx.x & row_lanes) == 0; }
    __device__ static float row_max(float v) {
#pragma unroll
        for (unsigned lane = 16; lane > 0; lane /= 2)
            if (row_lanes & lane) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, (int)lane));
        return v;
    }
    __device__ static float row_sum(float v) {
#pragma unroll
        for (unsigned lane = 16; lane > 0; lane /= 2)
            if (row_lanes & lane) v += __shfl_xor_sync(0xffffffffu, v, (int)lane);
        return v;
    }
};

/* A thread's way through one operand: `packs` of four neighbours in memory of every slice of its group. Beyond the
 * depth are zeros; beyond the rows anything, zeros or the last row again. */
template <class S, typename T>
struct any_reader {
    const any_matrix<T> &m;
    const T *at;
    int edge; /* in one register: rows from the tile's first on, at most a tile's; `whole` where packs are */
    static constexpr int whole = 1 << 16;

    /* Of a thread of the group. */
    __device__ int row(unsigned thread) const { return (int)(m.by_step ? thread / 2 : thread % (S::side / 4) * 4); }
    __device__ int step(unsigned thread) const { return (int)(m.by_step ? thread % 2 * 4 : thread / (S::side / 4)); }

    /* first_step: of the depth that the block has. */
    __device__ any_reader(const any_matrix<T> &of, int64_t first, int64_t rows, int first_step, int group,
                          unsigned thread)
        : m(of) {
        const int limit = (int)(rows - first < S::side ? rows - first : S::side);
        const int r = m.by_step && row(thread) >= limit ? limit - 1 : row(thread);
        at = m.base + blockIdx.z * m.next + (first + r) * m.line +
             (int64_t)(first_step + group * S::slice + step(thread)) * m.step;
        edge = limit + (m.wide && (m.by_step || row(thread) + 4 <= limit) ? whole : 0);
    }
    /* The group's next slice, where the depth has so much left. */
    __device__ void fetch(pack<T, 4> (&v)[S::packs], int left, unsigned thread) {
        const T *p = at;
        if (edge >= whole && left >= S::slice) {
#pragma unroll
            for (int i = 0; i < S::packs; i++, p += m.leap) v[i] = *(const pack<T, 4> *)p;
        } else {
#pragma unroll
            for (int i = 0; i < S::packs; i++, p += m.leap) {
                const int behind = left - step(thread) - 8 * i;
                const int there = m.by_step ? behind : behind > 0 ? edge % whole - row(thread) : 0;
#pragma unroll
                for (int j = 0; j < 4; j++) v[i].v[j] = j < there ? p[j] : (T)0.0f;
            }
        }
        at += S::groups * S::packs * m.leap;
    }
    __device__ void put(const pack<T, 4> (&v)[S::packs], float *panel, unsigned thread) const {
        float *p = panel + step(thread) * S::pitch + row(thread);
#pragma unroll
        for (int i = 0; i < S::packs; i++) {
            const float4 f = {to_float(v[i].v[0]), to_float(v[i].v[1]), to_float(v[i].v[2]), to_float(v[i].v[3])};
            if (m.by_step) {
                p[(8 * i + 0) * S::pitch] = f.x, p[(8 * i + 1) * S::pitch] = f.y;
                p[(8 * i + 2) * S::pitch] = f.z, p[(8 * i + 3) * S::pitch] = f.w;
            } else {
                *(float4 *)(p + 8 * i * S::pitch) = f;
            }
        }
    }
};

template <class S>
__device__ inline void any_wait_for_group(void) {
    if constexpr (S::groups == 1)
        __syncthreads();
    else if constexpr (S::group == 32)
        __syncwarp();
    else
        bar_sync<S::group>((int)threadIdx.x / S::group + 1);
}

/* A group of several warps: two buffers, the next slice goes into one while the other is multiplied. All groups take as
 * many slices as the first, of zeros where the depth has no more: so all groups execute equally many barriers, which
 * racecheck needs to tell them from the block's. */
template <class S, typename A, typename B>
__device__ inline void any_multiply_by_turns(any_sums<S> &sums, any_reader<S, A> &a, any_reader<S, B> &b, int depth,
                                             int group, unsigned thread, float *room) {
    constexpr int both = 2 * S::panel, late = S::slice * 3 / 4, turns = ANY_CHAIN / S::slice;
    pack<A, 4> next_a[S::packs];
    pack<B, 4> next_b[S::packs];
    int left = depth - group * S::slice, all = depth, i = 1;
    float *const slices = room + group * 2 * both;
    if (all > 0) {
        a.fetch(next_a, left, thread), b.fetch(next_b, left, thread);
        a.put(next_a, slices, thread), b.put(next_b, slices + S::panel, thread);
        any_wait_for_group<S>();
    }
    const float *from_a = slices + sums.row(thread), *from_b = slices + S::panel + sums.column(thread);
    sums.clear();
    for (; all > 0; i++) {
        left -= S::groups * S::slice, all -= S::groups * S::slice;
        asm volatile("" : "+r"(thread)); /* no registers for what follows from it */
        if (all > 0) a.fetch(next_a, left, thread), b.fetch(next_b, left, thread);
        sums.template multiply<0, late>(from_a, from_b);
        if (all > 0) {
            float *const other = slices + (i % 2 ? both : 0);
            a.put(next_a, other, thread), b.put(next_b, other + S::panel, thread);
        }
        sums.template multiply<late, S::slice>(from_a, from_b);
        if (i % turns == 0) sums.end_chain(!S::apart || i > turns, room, thread);
        if (all > 0) any_wait_for_group<S>();
        from_a += i % 2 ? both : -both, from_b += i % 2 ? both : -both;
    }
    sums.add_up(!S::apart || i > turns, room, thread);
}

/* A group of one warp: latency is all, so `ahead` slices are in flight at once. */
template <class S, typename A, typename B>
__device__ inline void any_multiply_far_ahead(any_sums<S> &sums, any_reader<S, A> &a, any_reader<S, B> &b, int depth,
                                              int group, unsigned thread, float *room) {
    constexpr int turn = S::groups * S::slice;
    pack<A, 4> next_a[S::ahead][S::packs];
    pack<B, 4> next_b[S::ahead][S::packs];
    int left = depth - group * S::slice;
    float *const slices = room + group * 2 * S::panel;
#pragma unroll
    for (int u = 0; u < S::ahead; u++) {
        const int then = left - u * turn;
        if (then > 0) a.fetch(next_a[u], then, thread), b.fetch(next_b[u], then, thread);
    }
    sums.clear();
    for (int i = 0; left > 0; i += S::ahead) {
#pragma unroll
        for (int u = 0; u < S::ahead && left > 0; u++, left -= turn) {
            const int then = left - S::ahead * turn;
            a.put(next_a[u], slices, thread), b.put(next_b[u], slices + S::panel, thread);
            any_wait_for_group<S>();
            if (then > 0) a.fetch(next_a[u], then, thread), b.fetch(next_b[u], then, thread);
            sums.template multiply<0, S::slice>(slices + sums.row(thread), slices + S::panel + sums.column(thread));
            any_wait_for_group<S>();
            if ((i + u + 1) % (ANY_CHAIN / S::slice) == 0) sums.end_chain(true, room, thread);
        }
    }
    sums.add_up(true, room, thread);
}

/* The groups' sums in their order; v: as any_place has it. Keep: in shared memory, too, as lines of a tile. */
template <class S, bool Keep>
__device__ inline void any_merge(const any_sums<S> &sums, int group, unsigned thread, float *room,
                                 float (&v)[any_place<S>::rows][any_place<S>::columns], int *row, int *column) {
    using place = any_place<S>;
    using some = pack<float, place::columns>;
    constexpr int tile = S::side * S::side;
    float *const mine = room + group * tile + sums.row(thread) * S::side + sums.column(thread);
    __syncthreads(); /* the last slices have been read */
#pragma unroll
    for (int i = 0; i < S::rows; i++)
#pragma unroll
        for (int j = 0; j < S::columns; j += S::width)
            *(pack<float, S::width> *)(mine + (i % 4 + i / 4 * S::row_leap) * S::side + j / 4 * S::column_leap) =
                *(const pack<float, S::width> *)&sums.chain[i][j];
    __syncthreads();
    *row = (int)threadIdx.x / place::threads_across * place::rows;
    *column = (int)threadIdx.x % place::threads_across * place::columns;
#pragma unroll
    for (int i = 0; i < place::rows; i++) {
        float *const p = room + (*row + i) * S::side + *column;
        *(some *)v[i] = *(const some *)p;
#pragma unroll
        for (int g = 1; g < S::groups; g++) {
            const some more = *(const some *)(p + g * tile);
#pragma unroll
            for (int j = 0; j < place::columns; j++) v[i][j] += more.v[j];
        }
        if (Keep) *(some *)p = *(const some *)v[i];
    }
    if (!Keep) __syncthreads(); /* before the next tile's slices */
}

/* Whether an epilogue takes units of several tiles: that costs registers. */
template <class Epilogue>
constexpr bool any_several = [] {
    if constexpr (requires { Epilogue::several; }) return Epilogue::several;
    return false;
}();

/* Whether a cluster may share a tile. An epilogue of several tiles has enough of them, and no registers left. */
template <class S, class Epilogue>
constexpr bool any_shareable = S::groups > 1 && !any_several<Epilogue>;

/* Steps of the depth: of all blocks of a cluster, and of one (the last may have fewer, or none). */
struct any_depth {
    int all, each;
};

/* The cluster's number along x, and its blocks; devices without clusters have one block in each. */
__device__ inline int any_cluster_number(void) {
#if __CUDA_ARCH__ >= 900
    return clusterid_x();
#else
    return (int)blockIdx.x;
#endif
}
__device__ inline int any_cluster_blocks(void) {
#if __CUDA_ARCH__ >= 900
    return cluster_nctarank();
#else
    return 1;
#endif
}

/* N floats of the block of that number in the cluster, which lie where `at` does here. */
template <int N>
__device__ inline pack<float, N> any_of_block(const float *at, int block) {
    pack<float, N> v;
    if constexpr (N == 4)
        *(float4 *)v.v = ld_shared_cluster_v4(shared_address(at), block);
    else
        v.v[0] = ld_shared_cluster(shared_address(at), block);
    return v;
}

/* Adds this block's rows of a tile whose parts are in every block's `room`; a thread has neighbouring columns of a row.
 */
template <class S, class Epilogue>
__device__ inline void any_finish_shared(int64_t row, int64_t column, int unit, const Epilogue &epilogue,
                                         const float *room) {
#if __CUDA_ARCH__ >= 900
    using place = any_place<S, true>;
    const int blocks = cluster_nctarank(), rows = S::side / blocks, first = cluster_ctarank() * rows;
    const int j = (int)threadIdx.x % place::threads_across * place::columns;
    barrier_cluster_sync();
    for (int i = (int)threadIdx.x / place::threads_across; i < rows; i += ANY_THREADS / place::threads_across) {
        __align__(16) float v[1][place::columns] = {};
        for (int block = 0; block < blocks; block++) {
            const auto part = any_of_block<place::columns>(room + (first + i) * S::side + j, block);
#pragma unroll
            for (int e = 0; e < place::columns; e++) v[0][e] += part.v[e];
        }
        epilogue.tile(v, place{row + first + i, column + j, unit, true});
    }
    barrier_cluster_sync(); /* before a block ends that others read */
#else
    __trap(); /* no clusters on this device */
#endif
}

/* Tile by tile, `run` neighbouring ones of the unit's columns, to an epilogue. room: S::floats of shared memory. */
template <class S, typename A, typename B, class Epilogue>
__device__ inline void any_unit(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n,
                                const any_depth depth, const int64_t row, const int unit, int run,
                                const Epilogue &epilogue, float *room) {
    const int tiles = any_several<Epilogue> ? run : 1;
    int first = 0;
#if __CUDA_ARCH__ >= 900
    if constexpr (any_shareable<S, Epilogue>)
        if (depth.each < depth.all) first = cluster_ctarank() * depth.each;
#endif
    for (int r = 0; r < tiles; r++) {
        const int64_t column = ((int64_t)unit * tiles + r) * S::side;
        if (column >= n) break;
        unsigned thread; /* again for every tile: no registers for what tiles have in common */
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        const int group = (int)thread / S::group, steps = min(depth.each, depth.all - first);
        thread %= S::group;
        any_sums<S> sums;
        any_reader<S, A> from_a(a, row, m, first, group, thread);
        any_reader<S, B> from_b(b, column, n, first, group, thread);
        if constexpr (S::group == 32)
            any_multiply_far_ahead(sums, from_a, from_b, steps, group, thread, room);
        else
            any_multiply_by_turns(sums, from_a, from_b, steps, group, thread, room);
        if constexpr (S::groups > 1) {
            __align__(16) float v[any_place<S>::rows][any_place<S>::columns];
            int i, j;
            if constexpr (any_shareable<S, Epilogue>)
                if (depth.each < depth.all) {
                    any_merge<S, true>(sums, group, thread, room, v, &i, &j);
                    any_finish_shared<S>(row, column, unit, epilogue, room);
                    return; /* there is one tile */
                }
            any_merge<S, false>(sums, group, thread, room, v, &i, &j);
            epilogue.tile(v, any_place<S>{row + i, column + j, unit, r == 0});
        } else {
            __syncthreads(); /* before the next tile's slices */
            epilogue.tile(sums.chain, any_place<S>{row + sums.row(thread), column + sums.column(thread), unit, r == 0});
        }
    }
}

}  // namespace ridge

#endif
