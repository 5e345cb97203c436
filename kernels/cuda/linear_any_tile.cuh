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
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_TILE_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_TILE_CUH

#include "cuda/hopper/ptx.cuh"
#include "cuda/linear_loss.cuh"

namespace ridge {

constexpr int ANY_CHAIN = 128, ANY_THREADS = 256, ANY_DEPTH = 1 << 30; /* the last: at the most */

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

/* Lanes of a warp lie LaneRows x (32 / LaneRows), and interleaved so that any two neighbours share what they read. */
template <int Side, int Slice, int Rows, int Columns, int LaneRows, int Ahead, int Blocks, bool Apart>
struct any_shape {
    static constexpr int side = Side, slice = Slice, rows = Rows, columns = Columns, lane_rows = LaneRows;
    static constexpr int ahead = Ahead;                                  /* slices on their way to registers */
    static constexpr int blocks = Blocks;                                /* a multiprocessor */
    static constexpr int group = 2 * Side, groups = ANY_THREADS / group; /* threads; their groups */
    static constexpr int buffers = group == 32 ? 1 : 2;                  /* of slices in shared memory */
    static constexpr int pitch = Side + 4, panel = Slice * pitch, packs = Slice / 8; /* packs of 4: a thread's */
    static constexpr int lane_columns = 32 / LaneRows, width = Columns < 4 ? Columns : 4;
    static constexpr int across = Side / (lane_columns * Columns); /* warps beside each other */
    static constexpr int row_leap = 4 * LaneRows, column_leap = width * lane_columns;
    static constexpr bool apart = Apart; /* sums of chains are in shared memory: registers for two blocks */
    static constexpr int slices = groups * buffers * 2 * panel, sums = groups > 1 ? groups *Side *Side : 0;
    static constexpr int floats = apart ? slices + Side * Side : sums > slices ? sums : slices;

    static_assert(Rows % 4 == 0 && (Columns == 2 || Columns % 4 == 0) && Rows * Columns * group == Side * Side);
    static_assert(across * lane_columns * Columns == Side && Slice % 8 == 0 && ANY_CHAIN % Slice == 0);
    static_assert(!apart || (groups == 1 && Columns % 4 == 0));
};
using any_large = any_shape<128, 16, 8, 8, 4, 1, 2, true>;
using any_medium = any_shape<64, 16, 8, 4, 2, 1, 2, false>;
using any_small = any_shape<16, 32, 4, 2, 4, 2, 2, false>;

/* What an epilogue is told of a thread's part of a finished tile: v[rows][columns], some of them beyond the matrix. A
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

/* A thread's sums over the slices of its group. */
template <class S>
struct any_sums {
    __align__(16) float chain[S::rows][S::columns];
    float sum[S::apart ? 1 : S::rows][S::columns]; /* of chains that have ended */

    /* Of (0, 0), in the tile; thread: of the group. */
    __device__ static int row(unsigned thread) {
        const unsigned lane = thread % 32, warp = thread / 32;
        const unsigned down = S::lane_rows == 4 ? lane / 16 * 2 + lane % 2 : lane % 2;
        return (int)(warp / S::across * S::lane_rows * S::rows + down * 4);
    }
    __device__ static int column(unsigned thread) {
        const unsigned lane = thread % 32, warp = thread / 32;
        const unsigned along = S::lane_rows == 4 ? lane / 2 % 8 : lane / 2;
        return (int)(warp % S::across * S::lane_columns * S::columns + along * S::width);
    }
    /* Steps From … To - 1 of a slice; a, b: the thread's row and column of it. */
    template <int From, int To>
    __device__ void multiply(const float *a, const float *b) {
#pragma unroll
        for (int s = From; s < To; s++) {
            __align__(16) float x[S::rows], y[S::columns];
#pragma unroll
            for (int i = 0; i < S::rows; i += 4)
                *(float4 *)&x[i] = *(const float4 *)&a[s * S::pitch + i / 4 * S::row_leap];
#pragma unroll
            for (int j = 0; j < S::columns; j += S::width)
                *(pack<float, S::width> *)&y[j] =
                    *(const pack<float, S::width> *)&b[s * S::pitch + j / 4 * S::column_leap];
#pragma unroll
            for (int i = 0; i < S::rows; i++)
#pragma unroll
                for (int j = 0; j < S::columns; j++) chain[i][j] = fmaf(x[i], y[j], chain[i][j]);
        }
    }
    /* Late: until then the registers are free for addresses. */
    __device__ void clear(void) {
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) {
                chain[i][j] = 0.0f;
                if constexpr (!S::apart) sum[i][j] = 0.0f;
            }
    }
    __device__ static float4 *apart(float *room, unsigned thread) { return (float4 *)(room + S::slices) + thread; }
    /* chain becomes the sum of all so far; any: chains have ended. */
    __device__ void add_up(bool any, float *room, unsigned thread) {
        if (!any) return;
#pragma unroll
        for (int i = 0; i < S::rows; i++) {
            if constexpr (!S::apart) {
#pragma unroll
                for (int j = 0; j < S::columns; j++) chain[i][j] += sum[i][j];
            } else {
#pragma unroll
                for (int j = 0; j < S::columns; j += 4) {
                    const float4 before = apart(room, thread)[(i * S::columns + j) / 4 * ANY_THREADS];
                    chain[i][j] += before.x, chain[i][j + 1] += before.y;
                    chain[i][j + 2] += before.z, chain[i][j + 3] += before.w;
                }
            }
        }
    }
    __device__ void end_chain(bool any, float *room, unsigned thread) {
        add_up(any, room, thread);
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) {
                if constexpr (!S::apart)
                    sum[i][j] = chain[i][j];
                else if (j % 4 == 0)
                    apart(room, thread)[(i * S::columns + j) / 4 * ANY_THREADS] = *(const float4 *)&chain[i][j];
            }
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) chain[i][j] = 0.0f;
    }
};

template <class S>
__device__ inline void any_wait_for_group(void) {
    if constexpr (S::groups == 1)
        __syncthreads();
    else if constexpr (S::group == 32)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"((int)threadIdx.x / S::group + 1), "n"(S::group) : "memory");
}

/* A group of several warps: two buffers, the next slice goes into one while the other is multiplied. All groups take as
 * many slices as the first, of zeros where the depth has no more: so they meet equally often, which racecheck needs to
 * tell their barriers from the block's. */
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

/* A group of one warp: latency is all, so `ahead` slices are on their way at once. */
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

/* Whether a cluster may have a tile together. Several tiles are many anyhow, and have no registers left. */
template <class S, class Epilogue>
constexpr bool any_shareable = S::groups > 1 && !any_several<Epilogue>;

/* Steps of the depth: of all blocks of a cluster, and of one (the last may have fewer, or none). */
struct any_depth {
    int all, each;
};

/* The cluster's number along x, and its blocks; devices without clusters have one block in each. */
__device__ inline int any_cluster_number(void) {
#if __CUDA_ARCH__ >= 900
    return hopper::cluster_number();
#else
    return (int)blockIdx.x;
#endif
}
__device__ inline int any_cluster_blocks(void) {
#if __CUDA_ARCH__ >= 900
    return hopper::cluster_blocks();
#else
    return 1;
#endif
}

/* N floats of the block of that number in the cluster, which lie where `at` does here. */
template <int N>
__device__ inline pack<float, N> any_of_block(const float *at, int block) {
    pack<float, N> v;
#if __CUDA_ARCH__ >= 900
    const uint32_t here = hopper::shared_address(at);
    if constexpr (N == 4)
        asm volatile(
            "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
            "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
            : "=f"(v.v[0]), "=f"(v.v[1]), "=f"(v.v[2]), "=f"(v.v[3])
            : "r"(here), "r"(block)
            : "memory");
    else
        asm volatile(
            "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %1, %2;\n"
            "ld.shared::cluster.f32 %0, [there];\n}"
            : "=f"(v.v[0])
            : "r"(here), "r"(block)
            : "memory");
#endif
    return v;
}

/* Of a tile that lies in every block's `room`, in parts, this block's rows, a thread a row's neighbouring columns. */
template <class S, class Epilogue>
__device__ inline void any_finish_shared(int64_t row, int64_t column, int unit, const Epilogue &epilogue,
                                         const float *room) {
#if __CUDA_ARCH__ >= 900
    using place = any_place<S, true>;
    const int blocks = hopper::cluster_blocks(), rows = S::side / blocks, first = hopper::cluster_rank() * rows;
    const int j = (int)threadIdx.x % place::threads_across * place::columns;
    hopper::cluster_sync();
    for (int i = (int)threadIdx.x / place::threads_across; i < rows; i += ANY_THREADS / place::threads_across) {
        __align__(16) float v[1][place::columns] = {};
        for (int block = 0; block < blocks; block++) {
            const auto part = any_of_block<place::columns>(room + (first + i) * S::side + j, block);
#pragma unroll
            for (int e = 0; e < place::columns; e++) v[0][e] += part.v[e];
        }
        epilogue.tile(v, place{row + first + i, column + j, unit, true});
    }
    hopper::cluster_sync(); /* before a block ends that others read */
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
        if (depth.each < depth.all) first = hopper::cluster_rank() * depth.each;
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
