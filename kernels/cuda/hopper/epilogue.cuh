/* What becomes of a tile of sums (see matmul.cuh). An epilogue has
 *     scratch                              bytes of shared memory for each warpgroup, a multiple of 1024
 *     waits()                              whether blocks wait here for other blocks
 *     prepare(scratch)                     once, by both warpgroups, before the blocks of a cluster meet
 *     state begin(tile, group)             before the tile's products: what to load ahead
 *     finish(tile, state, sums, scratch, group)
 *     end()                                behind the last tile
 *
 * A warpgroup has 64 rows of the tile; a thread has two of them, `row` and `row + 8`, and of these the columns
 * 8j + 2 (lane % 4) and the next: sums[4j], sums[4j + 1] of the first row, sums[4j + 2], sums[4j + 3] of the second. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_EPILOGUE_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_EPILOGUE_CUH

#include <float.h>

#include "cuda/hopper/matmul.cuh"
#include "cuda/linear_loss.cuh"

namespace ridge::hopper {

template <typename T>
struct storage {
    using type = T;
};
template <>
struct storage<tf32> {
    using type = float;
};

__device__ inline int thread_of_group(void) { return (int)threadIdx.x % 128; }
/* The first of a thread's two rows, from the tile's first one. */
__device__ inline int thread_row(int group) {
    return group * 64 + thread_of_group() / 32 * 16 + (int)threadIdx.x % 32 / 4;
}
__device__ inline int thread_column(void) { return (int)threadIdx.x % 4 * 2; }
__device__ inline void group_barrier(int group) {
    if (group == 0)
        named_barrier<1, 128>();
    else
        named_barrier<2, 128>();
}

/* Over the four threads that share a row. */
__device__ inline float row_max(float v) {
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
__device__ inline float row_sum(float v) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

__device__ inline float exp2_approximate(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline uint32_t pack_pair(__nv_bfloat16, float low, float high) {
    uint32_t v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
__device__ inline uint32_t pack_pair(__half, float low, float high) {
    uint32_t v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

/* ---- a tile to memory, in 16 bits, through shared memory: 64 columns at a time, two of them on their way ---- */

constexpr int tile_store_bytes = 2 * 64 * 128;

template <typename T, int N, bool Add>
__device__ inline void tile_store(const CUtensorMap *map, int m, int n, const float (&v)[N / 2], uint32_t scratch,
                                  int group) {
    const int lane = (int)threadIdx.x % 32, line = thread_of_group() / 32 * 16 + lane % 16;
#pragma unroll
    for (int chunk = 0; chunk < N / 64; chunk++) {
        const uint32_t buffer = scratch + (uint32_t)(chunk % 2 * 64 * 128);
        if (thread_of_group() == 0) store_wait_read<1>();
        group_barrier(group);
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            const float *s = &v[(chunk * 8 + j) * 4];
            const uint32_t at = buffer + (uint32_t)(line * 128 + (((j + lane / 16) ^ (line % 8)) * 16));
            store_matrices(at, pack_pair(T(), s[0], s[1]), pack_pair(T(), s[2], s[3]), pack_pair(T(), s[4], s[5]),
                           pack_pair(T(), s[6], s[7]));
        }
        shared_fence();
        group_barrier(group);
        if (thread_of_group() == 0) {
            if constexpr (Add)
                add_tile(map, buffer, n + chunk * 64, m + group * 64);
            else
                store_tile(map, buffer, n + chunk * 64, m + group * 64);
            store_commit();
        }
    }
}

/* C (+)= the sums. */
template <typename T, int N, bool Add>
struct store_epilogue {
    CUtensorMap map;
    static constexpr int scratch = tile_store_bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[N / 2], uint32_t at,
                           int group) const {
        tile_store<T, N, Add>(&map, tile.m, tile.n, sums, at, group);
    }
    __device__ void end(void) const {
        if (thread_of_group() == 0) store_wait();
    }
};

/* ---- logits: sums + bias, in units of log 2, from where exp is exp2 ---- */

/* Bias of `columns` classes, those beyond are given -inf, so that they weigh nothing. Scaled: and what undoes the
 * scaling of B's columns. */
template <typename T, int N, bool Scaled = false>
struct bias_ahead {
    static constexpr int bytes = 4 * N * (Scaled ? 2 : 1), count = (N + 127) / 128;
    float v[count], scale[Scaled ? count : 1], unit;

    /* Nothing is computed from what is loaded: nobody waits for it here. */
    __device__ bias_ahead(const T *bias, int n, int columns, const float *undo = NULL, float unit_ = log2_e)
        : unit(unit_) {
#pragma unroll
        for (int i = 0; i < count; i++) {
            const int column = n + i * 128 + thread_of_group();
            v[i] = column < columns ? (bias ? to_float(bias[column]) : 0.0f) : -INFINITY;
            if constexpr (Scaled) scale[i] = column < columns ? undo[column] : 0.0f;
        }
    }
    /* sums becomes (sums + bias) / ln 2; `at`: `bytes` of shared memory. low, high: what the sums of the thread's rows
     * are multiplied by. */
    __device__ void add(float (&sums)[N / 2], uint32_t at, int group, float low = log2_e, float high = log2_e) const {
        group_barrier(group); /* everybody has read what was there */
#pragma unroll
        for (int i = 0; i < count; i++) {
            if (N % 128 && i * 128 + thread_of_group() >= N) break;
            const uint32_t mine = at + 4 * (uint32_t)(i * 128 + thread_of_group());
            shared_put(mine, v[i] * unit);
            if constexpr (Scaled) shared_put(mine + 4 * N, scale[i]);
        }
        group_barrier(group);
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const uint32_t mine = at + 4 * (uint32_t)(8 * j + thread_column());
            const float2 b = shared_get2(mine);
            float2 s = make_float2(1.0f, 1.0f);
            if constexpr (Scaled) s = shared_get2(mine + 4 * N);
            sums[4 * j] = fmaf(sums[4 * j], s.x * low, b.x);
            sums[4 * j + 1] = fmaf(sums[4 * j + 1], s.y * low, b.y);
            sums[4 * j + 2] = fmaf(sums[4 * j + 2], s.x * high, b.x);
            sums[4 * j + 3] = fmaf(sums[4 * j + 3], s.y * high, b.y);
        }
    }
};

/* A tile of sums to fp32, in pairs: c's lines have room for an even number of elements. */
template <int N>
__device__ inline void store_pairs(float *c, int64_t stride, int rows, int columns, const matmul_tile &tile,
                                   const float (&v)[N / 2], int group) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = tile.m + thread_row(group) + 8 * half, left = columns - tile.n - thread_column();
        float *line = c + row * stride + tile.n + thread_column();
        if (row >= rows) continue;
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            if (8 * j < left) *(float2 *)(line + 8 * j) = make_float2(v[4 * j + 2 * half], v[4 * j + 2 * half + 1]);
    }
}

/* What undoes the scaling of split operands' rows: of the thread's two. */
struct undo_ahead {
    float low, high;
    __device__ undo_ahead(const float *undo, int row, int rows)
        : low(row < rows ? undo[row] : 0.0f), high(row + 8 < rows ? undo[row + 8] : 0.0f) {}
};

/* C = the sums of split operands. */
template <int N>
struct scaled_epilogue {
    float *c;
    int64_t stride;
    const float *row_undo, *column_undo;
    int rows, columns;
    static constexpr int scratch = (bias_ahead<float, N, true>::bytes + 1023) / 1024 * 1024;
    static bool waits(void) { return false; }
    struct state {
        bias_ahead<float, N, true> bias;
        undo_ahead undo;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int group) const {
        return {{NULL, tile.n, columns, column_undo, 1.0f}, {row_undo, tile.m + thread_row(group), rows}};
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        s.bias.add(sums, at, group, s.undo.low, s.undo.high);
        store_pairs<N>(c, stride, rows, columns, tile, sums, group);
    }
    __device__ void end(void) const {}
};

/* The sums themselves, fp32, and a bias of their columns (NULL: none); lines of an even number of elements. */
template <typename T, int N>
struct float_epilogue {
    float *c;
    int64_t stride;
    const T *bias;
    int rows, columns;
    static constexpr int scratch = (4 * N + 1023) / 1024 * 1024;
    static bool waits(void) { return false; }
    struct state {
        bias_ahead<T, N> bias;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int) const { return {{bias, tile.n, columns, NULL, 1.0f}}; }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        s.bias.add(sums, at, group, 1.0f, 1.0f);
        store_pairs<N>(c, stride, rows, columns, tile, sums, group);
    }
    __device__ void end(void) const {}
};

/* One of a thread's two rows of sums: f(j's value). Half: 0 or 1. */
template <int Half, int Count, typename F>
__device__ inline void each_of_row(float (&sums)[Count], F f) {
#pragma unroll
    for (int i = 0; i < Count / 4; i++) {
        f(sums[4 * i + 2 * Half], 2 * i);
        f(sums[4 * i + 2 * Half + 1], 2 * i + 1);
    }
}

/* The largest v of a row, rounded up; 0 where there is none. */
template <int Half, int Count>
__device__ inline float row_shift(float (&v)[Count]) {
    float most[2] = {-INFINITY, -INFINITY};
    each_of_row<Half>(v, [&](float &x, int i) { most[i % 2] = fmaxf(most[i % 2], x); });
    const float top = ceilf(row_max(fmaxf(most[0], most[1])));
    return top == -INFINITY ? 0.0f : top;
}

/* The sum of 2^(v - shift); Keep: which v becomes. */
template <int Half, bool Keep, bool Shift, int Count>
__device__ inline float row_exponentials(float (&v)[Count], float shift) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    each_of_row<Half>(v, [&](float &x, int i) {
        const float e = exp2_approximate(Shift ? x - shift : x);
        if (Keep) x = e;
        sum[i % 4] += e;
    });
    return row_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Turns one row's logits into 2^(v - shift), the largest of them in (2^(Scale - 1), 2^Scale]. */
template <int Half, int Scale, int Count>
__device__ inline softmax_part exponentiate_row(float (&v)[Count]) {
    const float shift = row_shift<Half>(v) - (float)Scale;
    return {shift, row_exponentials<Half, true, true>(v, shift)};
}

/* Only their sum. Logits of any usual size need no shift; where the sum says that these did, it is made again. */
template <int Half, int Count>
__device__ inline softmax_part sum_row(float (&v)[Count]) {
    softmax_part p = {0.0f, row_exponentials<Half, false, false>(v, 0.0f)};
    const bool far = !(p.sum >= 0x1p-40f && p.sum <= 0x1p120f);
    if (__any_sync(0xffffffffu, far)) {
        const float shift = row_shift<Half>(v), sum = row_exponentials<Half, false, true>(v, shift);
        if (far) p = {shift, sum};
    }
    return p;
}

/* Where the label's column is one of this thread's: hit(value). Rare enough to be looked for by comparison. */
template <int Half, int Count, typename F>
__device__ inline void at_column(float (&v)[Count], int column, F hit) {
    const bool here = column >= 0 && column < Count * 2;
    if (!__any_sync(0xffffffffu, here)) return;
    const int mine = here && column % 8 / 2 == (int)threadIdx.x % 4 ? column / 8 * 2 + column % 2 : -1;
    each_of_row<Half>(v, [&](float &x, int i) {
        if (i == mine) hit(x);
    });
}

/* What becomes of a tile of operands as they are, or split (fp32): 16 bits go to memory by the map, fp32 in pairs. */
template <typename T, int N, bool Stores>
struct tile_output {
    static constexpr bool scaled = sizeof(T) == 4, by_map = Stores && !scaled;
    static constexpr int stores = by_map ? tile_store_bytes : 0;
    static constexpr int scratch = stores + (bias_ahead<float, N, scaled>::bytes + 1023) / 1024 * 1024;
    CUtensorMap map;
    float *c;
    int64_t stride;
    const float *row_undo, *column_undo;

    struct undo_none {
        static constexpr float low = 1.0f, high = 1.0f;
    };
    using undo = std::conditional_t<scaled, undo_ahead, undo_none>;
    struct state {
        bias_ahead<float, N, scaled> bias;
        undo rows;
    };
    __device__ state begin(const float *bias, const matmul_tile &tile, int group, int rows, int columns) const {
        if constexpr (scaled)
            return {{bias, tile.n, columns, column_undo}, {row_undo, tile.m + thread_row(group), rows}};
        else
            return {{bias, tile.n, columns}, {}};
    }
    /* Sums become logits. */
    __device__ void logits(const state &s, float (&sums)[N / 2], uint32_t at, int group) const {
        s.bias.add(sums, at + stores, group, s.rows.low * log2_e, s.rows.high * log2_e);
    }
    template <typename V>
    __device__ void put(const matmul_tile &tile, const float (&v)[N / 2], uint32_t at, int group, int rows,
                        int columns) const {
        if constexpr (by_map)
            tile_store<V, N, false>(&map, tile.m, tile.n, v, at, group);
        else
            store_pairs<N>(c, stride, rows, columns, tile, v, group);
    }
    __device__ void end(void) const {
        if (by_map && thread_of_group() == 0) store_wait();
    }
};

/* ---- statistics of the logits; Keep: and the exponentials, 2^(v - shift) with a shift for every row and tile ---- */

template <typename T, int N, bool Keep>
struct statistics_epilogue {
    using kept = kept_type<T>;
    using output = tile_output<T, N, Keep>;
    output out; /* Keep: of the exponentials */
    const float *bias;
    label_view labels;
    softmax_part *parts; /* [parts][rows] */
    float *logit_sums;   /* the same; NULL: not wanted */
    float *label_logit;
    float *shifts;            /* Keep: [tiles of columns][rows] */
    int rows, columns, first; /* first: label of column 0 */

    static constexpr int scratch = output::scratch;
    static bool waits(void) { return false; }
    struct state {
        typename output::state out;
        int label[2];
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + thread_row(group);
        state s = {out.begin(bias, tile, group, rows, columns), {-1, -1}};
        if (row < rows) s.label[0] = labels[row] - first;
        if (row + 8 < rows) s.label[1] = labels[row + 8] - first;
        return s;
    }
    template <int Half>
    __device__ void row(const matmul_tile &tile, const state &s, float (&v)[N / 2], int row) const {
        const int label = s.label[Half] < columns ? s.label[Half] - tile.n : -1;
        at_column<Half>(v, label, [&](float x) { label_logit[row] = x; });
        float all = 0.0f;
        if (logit_sums) {
            each_of_row<Half>(v, [&](float x, int) { all += x == -INFINITY ? 0.0f : x; });
            all = row_sum(all);
        }
        softmax_part p;
        if constexpr (Keep)
            p = exponentiate_row<Half, kept_scale<kept>>(v);
        else
            p = sum_row<Half>(v);
        if (row >= rows || threadIdx.x % 4 != 0) return;
        if constexpr (Keep) shifts[(int64_t)(tile.n / N) * rows + row] = p.shift;
        const int64_t at = (int64_t)tile.part * rows + row;
        parts[at] = tile.opens ? p : merge_parts(parts[at], p);
        if (logit_sums) logit_sums[at] = tile.opens ? all : logit_sums[at] + all;
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        out.logits(s.out, sums, at, group);
        const int first = tile.m + thread_row(group);
        row<0>(tile, s, sums, first);
        row<1>(tile, s, sums, first + 8);
        if constexpr (Keep) out.template put<kept>(tile, sums, at, group, rows, columns);
    }
    __device__ void end(void) const { out.end(); }
};

/* ---- gradients of the logits, where the rows' sums are known ---- */

template <typename T, int N>
struct gradient_epilogue {
    using output = tile_output<T, N, true>;
    output out;
    const float *bias;
    const row_gradient *row_of;
    int rows, columns;

    static constexpr int scratch = output::scratch;
    static bool waits(void) { return false; }
    struct state {
        typename output::state out;
        row_gradient row[2];
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + thread_row(group);
        const row_gradient none = {0.0f, 0.0f, 0.0f, 0.0f, -1};
        return {out.begin(bias, tile, group, rows, columns),
                {row < rows ? row_of[row] : none, row + 8 < rows ? row_of[row + 8] : none}};
    }
    template <int Half>
    __device__ void row(const matmul_tile &tile, const row_gradient &r, float (&v)[N / 2]) const {
        const bool counts = r.label >= 0;
        each_of_row<Half>(
            v, [&](float &x, int) { x = counts ? fmaf(r.coef, exp2_approximate(x - r.log_sum), -r.off) : 0.0f; });
        at_column<Half>(v, counts ? r.label - tile.n : -1, [&](float &x) { x -= r.hit; });
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        out.logits(s.out, sums, at, group);
        row<0>(tile, s.row[0], sums);
        row<1>(tile, s.row[1], sums);
        out.template put<T>(tile, sums, at, group, rows, columns);
    }
    __device__ void end(void) const { out.end(); }
};

/* ---- softmax ---- */

/* Rows whose operands are infinite: halves of infinities are not numbers, and what comes of them may be. By fused
 * multiply-adds, as if nothing had been split; a row by a warp. */
struct softmax_unsplit {
    const float *x, *w, *bias;
    float *p;
    int64_t x_line, w_line, w_step, w_head, bias_head, p_line, p_head;
    int depth, classes;

    __device__ void run(int head, int row) const {
        const float *values = x + row * x_line, *weight = w + head * w_head;
        float *to = p + head * p_head + row * p_line, most = -FLT_MAX, sum = 0.0f;
        const int lane = (int)threadIdx.x % 32;
        for (int j = lane; j < classes; j += 32) {
            float z = bias ? bias[head * bias_head + j] : 0.0f;
            for (int k = 0; k < depth; k++) z = fmaf(values[k], weight[j * w_line + k * w_step], z);
            to[j] = z;
            most = fmaxf(most, z);
        }
        for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
        for (int j = lane; j < classes; j += 32) sum += expf(to[j] - most);
        for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
        for (int j = lane; j < classes; j += 32) to[j] = expf(to[j] - most) / sum;
    }
};

/* The blocks that have a row's tiles run at the same time and tell each other their parts through memory, while the
 * exponentials wait in registers: so every probability is written once. A block waits only for tiles that come at most
 * `tiles` after its own, which are no more than there are blocks. */

template <typename T, int N, bool Scaled>
struct softmax_epilogue {
    const T *bias;
    T *p;
    int64_t stride;
    int64_t p_head, bias_head; /* from one head's to the next; columns and tiles are of one */
    int rows, columns, tiles;  /* tiles: of columns */
    bool pairs;                /* two neighbouring elements of p can be stored at once */
    softmax_part *parts;       /* [heads * tiles][rows] */
    unsigned *arrived;         /* [heads][groups of 64 rows], zero before; not used where tiles is 1 */
    int heads;
    const float *row_undo, *column_undo; /* Scaled */
    softmax_unsplit unsplit;             /* Scaled: for rows with a probability that is not a number */

    CUtensorMap map; /* of p in boxes, see make_heads_map */
    bool boxes;      /* it is there */

    static constexpr int bias_bytes = 1024, box_bytes = sizeof(T) == 4 ? 2048 : 0;
    static constexpr int scratch = bias_bytes + 8 * box_bytes;
    static_assert(bias_ahead<T, N, Scaled>::bytes <= bias_bytes, "room");
    bool waits(void) const { return tiles > 1; }
    struct state {
        bias_ahead<T, N, Scaled> bias;
        float low, high;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ int head(const matmul_tile &tile) const { return tile.n / N / tiles; }
    /* Its first column within its head. */
    __device__ int column(const matmul_tile &tile) const { return tile.n - head(tile) * tiles * N; }
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + thread_row(group), h = head(tile);
        state s = {bias_ahead<T, N, Scaled>(bias ? bias + h * bias_head : NULL, column(tile), h < heads ? columns : 0,
                                            Scaled ? column_undo + h * tiles * N : NULL),
                   1.0f, 1.0f};
        if constexpr (Scaled) {
            s.low = row < rows ? row_undo[row] : 0.0f;
            s.high = row + 8 < rows ? row_undo[row + 8] : 0.0f;
        }
        return s;
    }
    __device__ void tell(const matmul_tile &tile, int row, softmax_part mine) const {
        if (row < rows && threadIdx.x % 4 == 0)
            __stcg((float2 *)&parts[(int64_t)(tile.n / N) * rows + row], make_float2(mine.shift, mine.sum));
    }
    /* All tiles of these 64 rows have told theirs. */
    __device__ void meet(const matmul_tile &tile, int group) const {
        __threadfence();
        group_barrier(group);
        if (thread_of_group() == 0) {
            unsigned *counter = &arrived[head(tile) * (rows / 64 + 4) + tile.m / 64 + group], seen;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
            while (seen < (unsigned)tiles);
        }
        group_barrier(group);
    }
    /* What a row's exponentials are multiplied by. The four threads of a row share its parts. */
    __device__ float factor(int head, int row, softmax_part mine) const {
        if (tiles == 1) return 1.0f / mine.sum;
        softmax_part all = {-INFINITY, 0.0f};
        for (int i = (int)threadIdx.x % 4; i < tiles && row < rows; i += 4) {
            const float2 v = __ldcg((const float2 *)&parts[(int64_t)(head * tiles + i) * rows + row]);
            all = all.sum == 0.0f && all.shift == -INFINITY ? softmax_part{v.x, v.y} : merge_parts(all, {v.x, v.y});
        }
        const float shift = row_max(all.shift);
        const float sum = row_sum(all.shift == -INFINITY ? 0.0f : all.sum * exp2f(all.shift - shift));
        return exp2f(mine.shift - shift) / sum;
    }
    __device__ static bool is_odd(float factor) { return !(factor >= 0.0f); }
    /* All tiles of a row find it odd, and its first one has it made anew. row: the warp's first. */
    __device__ void repair(int head, int row, bool odd) const {
        for (unsigned left = __ballot_sync(0xffffffffu, odd); left; left &= left - 1) {
            const int lane = __ffs((int)left) - 1;
            if (lane % 4 == 0 && row + lane / 4 < rows) unsplit.run(head, row + lane / 4);
        }
    }
    template <int Half>
    __device__ void store(const float (&v)[N / 2], int head, int row, int n, float factor) const {
        if (row >= rows || (Scaled && is_odd(factor))) return;
        T *line = p + head * p_head + row * stride + n + thread_column();
        const int left = columns - n - thread_column();
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const pack<T, 2> two = {from_float<T>(v[4 * j + 2 * Half] * factor),
                                    from_float<T>(v[4 * j + 2 * Half + 1] * factor)};
            if (pairs && 8 * j + 1 < left) {
                *(pack<T, 2> *)(line + 8 * j) = two;
            } else {
                if (8 * j < left) line[8 * j] = two.v[0];
                if (8 * j + 1 < left) line[8 * j + 1] = two.v[1];
            }
        }
    }
    /* The warp's 16 rows through shared memory, 32 columns at a time, two of these on their way: so memory is written
     * in longer pieces than the 32 bytes that a row's threads have side by side, and while the next tile is made. */
    __device__ void store_boxes(const float (&v)[N / 2], int head, int row, int n, float low, float high,
                                uint32_t at) const {
        const int lane = (int)threadIdx.x % 32, line = lane / 4;
#pragma unroll
        for (int box = 0; box < (N + 31) / 32; box++) {
            const int column = n + box * 32;
            if (column >= columns || row >= rows) break;
            const uint32_t to = at + (uint32_t)(box % 2 * box_bytes);
            if (lane == 0) {
                if (box == 0)
                    store_wait_read<0>();
                else
                    store_wait_read<1>();
            }
            __syncwarp();
#pragma unroll
            for (int j = 0; j < 4 && box * 4 + j < N / 8; j++) {
                const float *s = &v[(box * 4 + j) * 4];
                const uint32_t mine = to + (uint32_t)(line * 128 + ((2 * j + lane % 4 / 2) ^ line) * 16 + lane % 2 * 8);
                shared_put2(mine, s[0] * low, s[1] * low);
                shared_put2(mine + 1024, s[2] * high, s[3] * high);
            }
            shared_fence();
            __syncwarp();
            if (lane == 0) store_tile(&map, to, column, head, row), store_commit();
        }
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        const int row = tile.m + thread_row(group), h = head(tile), n = column(tile);
        if (h >= heads) return; /* beyond the last tile of columns, where a cluster has several */
        s.bias.add(sums, at, group, s.low * log2_e, s.high * log2_e);
        const softmax_part first = exponentiate_row<0, 0>(sums), second = exponentiate_row<1, 0>(sums);
        if (tiles > 1) {
            tell(tile, row, first);
            tell(tile, row + 8, second);
            meet(tile, group);
        }
        const float low = factor(h, row, first), high = factor(h, row + 8, second);
        const int of_warp = row - (int)threadIdx.x % 32 / 4;
        if constexpr (box_bytes > 0)
            if (boxes && !(Scaled && __any_sync(0xffffffffu, is_odd(low) || is_odd(high)))) {
                const uint32_t warp = (uint32_t)(thread_of_group() / 32);
                store_boxes(sums, h, of_warp, n, low, high, at + bias_bytes + warp * 2 * box_bytes);
                return;
            }
        store<0>(sums, h, row, n, low);
        store<1>(sums, h, row + 8, n, high);
        if constexpr (Scaled) {
            if (n > 0) return;
            repair(h, of_warp, is_odd(low));
            repair(h, of_warp + 8, is_odd(high));
        }
    }
    __device__ void end(void) const {
        if (box_bytes > 0 && threadIdx.x % 32 == 0) store_wait();
    }
};

}  // namespace ridge::hopper

#endif
