/* A tile of C[m, n] = sum over k of A[m, k] B[n, k] by fp32 multiply-adds, for any types, order and alignment: how the
 * threads of a block share it.
 *
 * A tile is `side` x `side`. Its groups of 2 side threads take turns along the depth, a slice at a time; a group's
 * slices go from memory to registers while the one before is multiplied, from there to shared memory, and every thread
 * multiplies its `rows` x `columns` of the tile. Where there are several groups their sums are added in the groups'
 * order. No sum is a chain of more than ANY_CHAIN products: chains are added to the sum of those before. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_TILE_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_TILE_CUH

#include "cuda/linear_loss.cuh"

namespace ridge {

constexpr int ANY_CHAIN = 128, ANY_THREADS = 256, ANY_DEPTH = 1 << 30; /* the last: at the most */

/* Element (row, k) is base[row * line + k * step]; line or step is 1, or there is one row. `next` elements on are those
 * of the next of several matrices. */
template <typename T>
struct any_matrix {
    const T *base;
    int64_t line, step, next, leap; /* leap: of eight steps */
    bool by_step, wide;             /* neighbours in memory: along the depth; four of them can be read at once */

    any_matrix(const matrix_view &m, int64_t next_one = 0)
        : base((const T *)m.base), line(m.line), step(m.step), next(next_one), leap(8 * m.step), by_step(m.step == 1) {
        const bool unit = by_step || line == 1;
        wide = unit && (uintptr_t)m.base % sizeof(pack<T, 4>) == 0 && (by_step ? line : step) % 4 == 0 && next % 4 == 0;
    }
};

/* Lanes of a warp lie LaneRows x (32 / LaneRows), and interleaved so that any two neighbours share what they read. */
template <int Side, int Slice, int Rows, int Columns, int LaneRows, int Ahead, int Blocks>
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
    static constexpr int sums = groups > 1 ? groups *Side *Side : 0;
    static constexpr int floats = sums > groups *buffers * 2 * panel ? sums : groups *buffers * 2 * panel;

    static_assert(Rows % 4 == 0 && (Columns == 2 || Columns % 4 == 0) && Rows * Columns * group == Side * Side);
    static_assert(across * lane_columns * Columns == Side && Slice % 8 == 0 && ANY_CHAIN % Slice == 0);
    static_assert(floats * 4 <= 48 * 1024 && (groups == 1 || Side * Side % ANY_THREADS == 0));
};
using any_large = any_shape<128, 16, 8, 8, 4, 1, 1>;
using any_medium = any_shape<64, 16, 8, 4, 2, 1, 2>;
using any_small = any_shape<16, 32, 4, 2, 4, 2, 2>;

/* What an epilogue is told of a thread's part of a finished tile: v[rows][columns], some of them beyond the matrix. A
 * row's `span` neighbouring columns are with lanes whose numbers differ in row_lanes. */
template <class S>
struct any_place {
    static constexpr bool merged = S::groups > 1;
    static constexpr int each = S::side * S::side / ANY_THREADS; /* merged: elements, of up to 4 x 4 */
    static constexpr int columns = !merged ? S::columns : each < 4 ? each : 4;
    static constexpr int rows = !merged ? S::rows : each / columns;
    static constexpr int row_leap = S::row_leap, column_leap = S::column_leap;
    static constexpr int threads_across = S::side / columns;                 /* merged */
    static constexpr unsigned row_lanes = merged ? threads_across - 1 : 0xe; /* as any_sums has them */
    static constexpr int span = merged ? S::side : S::side / S::across, spans = S::side / span;
    static_assert(merged ? threads_across == 16 && rows <= 4 : S::lane_rows == 4);

    int64_t first_row, first_column;

    __device__ int64_t row(int i) const { return first_row + i % 4 + i / 4 * row_leap; }
    __device__ int64_t column(int j) const { return first_column + j % 4 + j / 4 * column_leap; }
    __device__ int64_t span_of(void) const { return first_column / span; }
    __device__ int64_t part_of(int unit) const { return (int64_t)unit * spans + span_of() % spans; }
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
    int enough, count; /* of the depth, for all packs to be whole; neighbours along the rows, at most */

    __device__ int row(void) const {
        const int thread = (int)threadIdx.x % S::group;
        return m.by_step ? thread / 2 : thread % (S::side / 4) * 4;
    }
    __device__ int step(void) const {
        const int thread = (int)threadIdx.x % S::group;
        return m.by_step ? thread % 2 * 4 : thread / (S::side / 4);
    }
    __device__ any_reader(const any_matrix<T> &of, int64_t first, int64_t rows) : m(of) {
        const int64_t beyond = rows - first - row(); /* rows from this thread's on */
        count = m.by_step || beyond > 4 ? 4 : (int)beyond;
        at = m.base + blockIdx.z * m.next + (first + row() + (m.by_step && beyond < 1 ? beyond - 1 : 0)) * m.line +
             ((int)threadIdx.x / S::group * S::slice + step()) * m.step;
        enough = !m.wide || count < 4 ? INT32_MAX : step() + 8 * (S::packs - 1) + (m.by_step ? 4 : 1);
    }
    /* The group's next slice, where the depth has so much left. */
    __device__ void fetch(pack<T, 4> (&v)[S::packs], int left) {
        const T *p = at;
        if (left >= enough) {
#pragma unroll
            for (int i = 0; i < S::packs; i++, p += m.leap) v[i] = *(const pack<T, 4> *)p;
        } else {
#pragma unroll
            for (int i = 0; i < S::packs; i++, p += m.leap) {
                const int behind = left - step() - 8 * i, there = m.by_step ? behind : behind > 0 ? count : 0;
#pragma unroll
                for (int j = 0; j < 4; j++) v[i].v[j] = j < there ? p[j] : (T)0.0f;
            }
        }
        at += S::groups * S::packs * m.leap;
    }
    __device__ void put(const pack<T, 4> (&v)[S::packs], float *panel) const {
        float *p = panel + step() * S::pitch + row();
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
    __align__(16) float sum[S::rows][S::columns];
    float chain[S::rows][S::columns];
    int row, column; /* of (0, 0), in the tile */

    __device__ any_sums(void) {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % S::group / 32;
        const int down = S::lane_rows == 4 ? lane / 16 * 2 + lane % 2 : lane % 2;
        const int along = S::lane_rows == 4 ? lane / 2 % 8 : lane / 2;
        row = warp / S::across * S::lane_rows * S::rows + down * 4;
        column = warp % S::across * S::lane_columns * S::columns + along * S::width;
    }
    /* Steps From … To - 1 of a slice. */
    template <int From, int To>
    __device__ void multiply(const float *a, const float *b) {
#pragma unroll
        for (int s = From; s < To; s++) {
            __align__(16) float x[S::rows], y[S::columns];
#pragma unroll
            for (int i = 0; i < S::rows; i += 4)
                *(float4 *)&x[i] = *(const float4 *)&a[s * S::pitch + row + i / 4 * S::row_leap];
#pragma unroll
            for (int j = 0; j < S::columns; j += S::width)
                *(pack<float, S::width> *)&y[j] =
                    *(const pack<float, S::width> *)&b[s * S::pitch + column + j / 4 * S::column_leap];
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
            for (int j = 0; j < S::columns; j++) sum[i][j] = chain[i][j] = 0.0f;
    }
    __device__ void end_chain(void) {
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) sum[i][j] += chain[i][j], chain[i][j] = 0.0f;
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

/* A group of several warps: two buffers, the next slice goes into one while the other is multiplied. */
template <class S, typename A, typename B>
__device__ inline void any_multiply_by_turns(any_sums<S> &sums, any_reader<S, A> &a, any_reader<S, B> &b, int depth,
                                             float *room) {
    constexpr int both = 2 * S::panel, late = S::slice * 3 / 4;
    pack<A, 4> next_a[S::packs];
    pack<B, 4> next_b[S::packs];
    const int group = (int)threadIdx.x / S::group;
    int left = depth - group * S::slice;
    float *now = room + group * 2 * both;
    if (left > 0) {
        a.fetch(next_a, left), b.fetch(next_b, left);
        a.put(next_a, now), b.put(next_b, now + S::panel);
        any_wait_for_group<S>();
    }
    sums.clear();
    for (int i = 1; left > 0; i++) {
        left -= S::groups * S::slice;
        if (left > 0) a.fetch(next_a, left), b.fetch(next_b, left);
        sums.template multiply<0, late>(now, now + S::panel);
        float *const other = now + (i % 2 ? both : -both);
        if (left > 0) a.put(next_a, other), b.put(next_b, other + S::panel);
        sums.template multiply<late, S::slice>(now, now + S::panel);
        if (i % (ANY_CHAIN / S::slice) == 0) sums.end_chain();
        if (left > 0) any_wait_for_group<S>();
        now = other;
    }
    sums.end_chain();
}

/* A group of one warp: latency is all, so `ahead` slices are on their way at once. */
template <class S, typename A, typename B>
__device__ inline void any_multiply_far_ahead(any_sums<S> &sums, any_reader<S, A> &a, any_reader<S, B> &b, int depth,
                                              float *room) {
    constexpr int turn = S::groups * S::slice;
    pack<A, 4> next_a[S::ahead][S::packs];
    pack<B, 4> next_b[S::ahead][S::packs];
    const int group = (int)threadIdx.x / S::group;
    int left = depth - group * S::slice;
    float *const now = room + group * 2 * S::panel;
#pragma unroll
    for (int u = 0; u < S::ahead; u++)
        if (left > u * turn) a.fetch(next_a[u], left - u * turn), b.fetch(next_b[u], left - u * turn);
    sums.clear();
    for (int i = 0; left > 0; i += S::ahead) {
#pragma unroll
        for (int u = 0; u < S::ahead && left > 0; u++, left -= turn) {
            const int then = left - S::ahead * turn;
            a.put(next_a[u], now), b.put(next_b[u], now + S::panel);
            any_wait_for_group<S>();
            if (then > 0) a.fetch(next_a[u], then), b.fetch(next_b[u], then);
            sums.template multiply<0, S::slice>(now, now + S::panel);
            any_wait_for_group<S>();
            if ((i + u + 1) % (ANY_CHAIN / S::slice) == 0) sums.end_chain();
        }
    }
    sums.end_chain();
}

/* The groups' sums in their order; v: as any_place has it. */
template <class S>
__device__ inline void any_merge(const any_sums<S> &sums, float *room,
                                 float (&v)[any_place<S>::rows][any_place<S>::columns], int *row, int *column) {
    using place = any_place<S>;
    using some = pack<float, place::columns>;
    constexpr int tile = S::side * S::side;
    float *const mine = room + (int)threadIdx.x / S::group * tile + sums.row * S::side + sums.column;
    __syncthreads(); /* the last slices have been read */
#pragma unroll
    for (int i = 0; i < S::rows; i++)
#pragma unroll
        for (int j = 0; j < S::columns; j += S::width)
            *(pack<float, S::width> *)(mine + (i % 4 + i / 4 * S::row_leap) * S::side + j / 4 * S::column_leap) =
                *(const pack<float, S::width> *)&sums.sum[i][j];
    __syncthreads();
    *row = (int)threadIdx.x / place::threads_across * place::rows;
    *column = (int)threadIdx.x % place::threads_across * place::columns;
#pragma unroll
    for (int i = 0; i < place::rows; i++) {
        const float *p = room + (*row + i) * S::side + *column;
        *(some *)v[i] = *(const some *)p;
#pragma unroll
        for (int g = 1; g < S::groups; g++) {
            const some more = *(const some *)(p + g * tile);
#pragma unroll
            for (int j = 0; j < place::columns; j++) v[i][j] += more.v[j];
        }
    }
    __syncthreads(); /* before the next tile's slices */
}

/* Tile by tile, `run` neighbouring ones of the unit's columns, to an epilogue. room: S::floats of shared memory. */
template <class S, typename A, typename B, class Epilogue>
__device__ inline void any_unit(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n, int depth,
                                int64_t row, int unit, int run, Epilogue &epilogue, float *room) {
    any_place<S> place = {};
    constexpr bool several = requires {
        Epilogue::tiles_of_unit;
    }; /* else: no registers for what tiles have in common */
    const int tiles = several ? run : 1;
    epilogue.begin();
    for (int r = 0; r < tiles; r++) {
        const int64_t column = ((int64_t)unit * tiles + r) * S::side;
        if (column >= n) break;
        any_sums<S> sums;
        any_reader<S, A> from_a(a, row, m);
        any_reader<S, B> from_b(b, column, n);
        if constexpr (S::group == 32)
            any_multiply_far_ahead(sums, from_a, from_b, depth, room);
        else
            any_multiply_by_turns(sums, from_a, from_b, depth, room);
        if constexpr (S::groups > 1) {
            __align__(16) float v[any_place<S>::rows][any_place<S>::columns];
            int i, j;
            any_merge(sums, room, v, &i, &j);
            place = {row + i, column + j};
            epilogue.tile(v, place);
        } else {
            __syncthreads(); /* before the next tile's slices */
            place = {row + sums.row, column + sums.column};
            epilogue.tile(sums.sum, place);
        }
    }
    epilogue.end(place, unit);
}

}  // namespace ridge

#endif
