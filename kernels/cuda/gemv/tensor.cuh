/* Products of few rows by the tensor cores, for more rows than multiply-adds keep pace with. As in gemv/product.cuh w
 * is read in packs of 16 bytes however its lines lie, here straight into fragments: outputs are rows of mma.sync's a,
 * rows of x are columns of its b.
 *
 *   across   a lane has four lines of a pack of outputs each; of 16 bits, pairs of lines are made in registers
 *   along    a lane has a pack of the depth of two outputs, for each of two slabs
 *
 * Which step of the depth is which of the instruction's is of no matter, as long as a and b agree.
 *
 * A block takes several tiles of outputs one after the other (gemv_turns_of): x is in its shared memory for all
 * of them, and the first packs of a tile are under way while the sums of the tile before are added. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_TENSOR_CUH
#define RIDGE_KERNELS_CUDA_GEMV_TENSOR_CUH

#include "cuda/gemv/mma.cuh"
#include "cuda/gemv/product.cuh"

namespace ridge {

/* x, step k of row r at place(r, k), filled up with zeros to `padded` steps. */
template <int R, gemv_product By, typename T, typename F>
__device__ inline void gemv_fill_mma(const gemv_args<T> &a, const gemv_place<T> &at, int padded, const F &place) {
    using X = gemv_mma_x<T, By>;
    constexpr int N = R < 16 || sizeof(X) == 2 ? 8 : 16; /* loads of a thread in flight */
    extern __shared__ float4 gemv_room[];
    const X *const from = (const X *)a.x + at.row * a.x_line + at.first * a.x_step;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < padded; k += GEMV_THREADS)
#pragma unroll 1
        for (int r = 0; r < R; r += N) {
            X v[N];
#pragma unroll
            for (int i = 0; i < N; i++)
                v[i] = k < at.steps && at.row + r + i < a.batch
                           ? gemv_mma_rounded<By>(from[(r + i) * a.x_line + k * a.x_step])
                           : from_float<X>(0.0f);
#pragma unroll
            for (int i = 0; i < N; i++) ((X *)gemv_room)[place(r + i, k)] = v[i];
        }
}

/* A block's tiles, of all heads: with the same rows and the same share of the depth. */
template <typename T>
struct gemv_tiles {
    gemv_place<T> at;
    int item;
    __device__ gemv_tiles(const gemv_args<T> &a, int rows) : at(a, rows), item(at.tile) { place(a); }
    __device__ void place(const gemv_args<T> &a) { at.head = item / a.to.count, at.tile = item % a.to.count; }
    __device__ bool next(const gemv_args<T> &a) {
        item += (int)gridDim.x / a.groups;
        if (item < a.items) place(a);
        return item < a.items;
    }
};

/* The sums of a tile leave registers eight rows at a time: put(n) writes those of rows 8 n … to shared memory,
 * finish(rows) takes them from there. */
template <int R, typename T, typename Put, typename Finish>
__device__ inline void gemv_finish_mma(const gemv_args<T> &a, gemv_place<T> at, const Put &put, const Finish &finish) {
#pragma unroll 1
    for (int chunk = 0; chunk < R / 8 && at.row < a.batch; chunk++, at.row += 8) {
        __syncthreads(); /* those before have been taken */
#pragma unroll
        for (int n = 0; n < R / 8; n++)
            if (n == chunk) put(n);
        __syncthreads();
        finish(at);
    }
}

constexpr int GEMV_SHARED = 99 * 1024; /* bytes that a block may have on every GPU with mma.sync in tf32 */

/* ---- lines along the outputs ---- */

template <typename T, gemv_product By, int R>
struct gemv_mma_across_shape {
    using X = gemv_mma_x<T, By>;
    static constexpr int V = pack_width<T>, window = 8 * V, lines = 16;       /* of a warp at a time */
    static constexpr int each = gemv_room(By) / R;                            /* steps of the depth, at most */
    static constexpr int slices = (int)sizeof(X) / 2;                         /* instructions of those lines */
    static constexpr int run = each / GEMV_WARPS * (int)sizeof(X) / 4 + 4;    /* words of x of a warp's lines */
    static constexpr int line = (run * GEMV_WARPS + 31) / 32 * 32 + 8;        /* of a row */
    static constexpr int pitch = window + 4, floats = GEMV_WARPS * 8 * pitch; /* where warps' sums meet */
    static constexpr int bytes = 4 * (R * line + floats);
    /* 128 registers do not suffice for the sums of 64 outputs or for hi and lo parts: one block, which has more loads
     * in flight. */
    static constexpr bool large = R == 32 && (sizeof(T) == 2 || By == GEMV_MMA_SPLIT);
    static constexpr int blocks = large ? 1 : 2, ahead = large ? 2 : 1;
    static_assert(each % (lines * GEMV_WARPS) == 0 && run % 4 == 0 && bytes <= GEMV_SHARED);

    /* Warps' lines apart; of fp32, those of an instruction together. Without conflicts of banks, written or read. */
    __device__ static int place(int r, int k) {
        constexpr int of_word = 4 / (int)sizeof(X);
        const int i = k / GEMV_WARPS, of_lane = i % 4, lane = i % lines / 4;
        return (r * line + k % GEMV_WARPS * run) * of_word +
               (slices == 1 ? i : i / lines * lines + of_lane / 2 * 8 + lane * 2 + of_lane % 2);
    }
};

template <typename T, gemv_product By, int R>
__global__ void __launch_bounds__(GEMV_THREADS, (gemv_mma_across_shape<T, By, R>::blocks))
    gemv_mma_across(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_mma_across_shape<T, By, R>;
    constexpr int V = S::V, N = R / 8, U = S::ahead;
    extern __shared__ float4 gemv_room[];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    gemv_tiles<T> tiles(a, R);
    const int count = (tiles.at.steps - warp + GEMV_WARPS - 1) / GEMV_WARPS; /* of the warp's lines */
    const int64_t leap = GEMV_WARPS * a.line;

    const T *from;
    int first, last;
    const auto begin = [&] {
        const T *const line =
            a.w + tiles.at.head * a.head + (int64_t)tiles.at.first * a.line + warp * a.line; /* the warp's first */
        const int column = tiles.at.tile * (a.alike ? S::window : S::window - V) - gemv_beyond<V>(line) + g * V;
        first = max(-column, 0), last = min(a.outputs - column, V);
        from = line + 4 * t * leap + column;
    };
    gemv_pack<T, V> ring[U + 1][4];
    const auto fetch = [&](gemv_pack<T, V>(&p)[4], int i) {
        const bool whole = first == 0 && last == V;
#pragma unroll
        for (int q = 0; q < 4; q++) p[q].load(from + q * leap, whole && i + 4 * t + q < count);
        if (!whole && first < last) {
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (i + 4 * t + q < count) p[q].gather(from + q * leap, first, last);
        }
        from += S::lines * leap;
    };
    const auto fetch_first = [&] {
#pragma unroll
        for (int u = 0; u < U; u++) fetch(ring[u], u * S::lines);
    };
    begin();
    fetch_first();
    const int padded = (tiles.at.steps + S::lines * GEMV_WARPS - 1) / (S::lines * GEMV_WARPS) * S::lines * GEMV_WARPS;
    gemv_fill_mma<R, By>(a, tiles.at, padded, S::place);
    __syncthreads();

    float *const sums = (float *)gemv_room + R * S::line;
    for (;;) {
        float sum[V / 2][N][4] = {}; /* of two outputs */
        const unsigned *x = (const unsigned *)gemv_room + g * S::line + warp * S::run + 2 * t;
        for (int i = 0; i < count; i += S::lines, x += 8 * S::slices) {
            fetch(ring[U], i + U * S::lines);
#pragma unroll
            for (int s = 0; s < S::slices; s++) {
                unsigned of_x[N][2];
#pragma unroll
                for (int n = 0; n < N; n++) {
                    const uint2 two = *(const uint2 *)(x + 8 * n * S::line + 8 * s);
                    of_x[n][0] = two.x, of_x[n][1] = two.y;
                }
#pragma unroll
                for (int j = 0; j < V / 2; j++) {
                    unsigned of_w[1][4];
                    gemv_mma_lines<By>(of_w[0], ring[0], s, j);
                    gemv_mma<By, T>(sum[j], of_w, of_x);
                }
            }
#pragma unroll
            for (int u = 0; u < U; u++)
#pragma unroll
                for (int q = 0; q < 4; q++) ring[u][q] = ring[u + 1][q];
        }

        const gemv_place<T> at = tiles.at;
        const bool more = tiles.next(a);
        if (more) {
            begin();
            fetch_first();
        }
        const T *const w = a.w + at.head * a.head + (int64_t)at.first * a.line;
        const int output = at.tile * S::window - gemv_beyond<V>(w + warp * a.line);
        gemv_finish_mma<R>(
            a, at,
            [&](int n) {
#pragma unroll
                for (int h = 0; h < 2; h++) { /* rows 2 t and 2 t + 1 */
                    float *const to = sums + (warp * 8 + 2 * t + h) * S::pitch + V * g;
#pragma unroll
                    for (int j = 0; j < V / 2; j += 2)
                        *(float4 *)(to + 2 * j) =
                            make_float4(sum[j][n][h], sum[j][n][2 + h], sum[j + 1][n][h], sum[j + 1][n][2 + h]);
                }
            },
            [&](const gemv_place<T> &rows) {
                gemv_finish_warps<8, S::window, V, S::pitch, By == GEMV_MMA_SPLIT>(a, rows, w, sums, output);
            });
        if (!more) return;
    }
}

/* ---- lines along the depth ---- */

template <typename T, gemv_product By, int R>
struct gemv_mma_along_shape {
    using X = gemv_mma_x<T, By>;
    static constexpr int V = pack_width<T>, tile = 128, slab = 4 * V; /* steps of the depth at a time */
    static constexpr int ahead = 2;                                   /* slabs */
    static constexpr int each = gemv_room(By) / R;
    static constexpr int words = V * (int)sizeof(X) / 4;               /* of x: a pack's steps */
    static constexpr int of_row = (each + V) * (int)sizeof(X) / 4 + 1; /* of x: a row's, and one behind it */
    static constexpr int line = (of_row + 19 + 31) / 32 * 32;
    static constexpr int pitch = tile + 1, floats = 8 * pitch; /* of sums */
    static constexpr int bytes = 4 * (R * line + floats);

    /* Where a row begins: lanes read words of eight rows and four packs, without conflicts of banks. */
    __device__ static int begin(int r) { return r * line + (words == 8 ? r % 8 : r % 4 + r / 4 % 2 * 16); }
    __device__ static int place(int r, int k) { return begin(r) * (4 / (int)sizeof(X)) + k; }
};

template <typename T, gemv_product By, int R>
__global__ void __launch_bounds__(GEMV_THREADS, 2) gemv_mma_along(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_mma_along_shape<T, By, R>;
    using X = typename S::X;
    constexpr int V = S::V, U = S::ahead, N = R / 8;
    extern __shared__ float4 gemv_room[];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    gemv_tiles<T> tiles(a, R);
    const int steps = tiles.at.steps;
    const int64_t leap = (int64_t)(8 * GEMV_WARPS) * a.line; /* to the lane's other output */

    const T *line, *from;
    int left, head, packs; /* outputs from the lane's first on; steps before the first pack; packs */
    const auto begin = [&] {
        const int tile = tiles.at.tile * S::tile;
        const T *const lines = a.w + tiles.at.head * a.head + tiles.at.first + (int64_t)(tile + warp) * a.line;
        line = lines + (int64_t)(g * GEMV_WARPS) * a.line;
        left = (a.outputs - tile - warp + GEMV_WARPS - 1) / GEMV_WARPS - g;
        head = min((V - gemv_beyond<V>(lines)) % V, steps);
        packs = (steps - head) / V;
        from = line + head + t * V;
    };
    gemv_pack<T, V> now[U][2], next[U][2];
    const auto fetch = [&](gemv_pack<T, V>(&p)[U][2], int i) {
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int m = 0; m < 2; m++)
                p[u][m].load(from + m * leap + u * S::slab, 8 * m < left && i + 4 * u + t < packs);
        from += U * S::slab;
    };
    begin();
    fetch(now, 0);
    gemv_fill_mma<R, By>(a, tiles.at, steps + V, S::place);
    __syncthreads();

    const unsigned *const row = (const unsigned *)gemv_room + S::begin(g);
    float *const sums = (float *)gemv_room + R * S::line;
    for (;;) {
        float sum[N][4] = {};
        const bool odd = sizeof(X) == 2 && head % 2;
        const unsigned *x = row + head * (int)sizeof(X) / 4 + t * S::words;
        for (int i = 0; i < packs; i += 4 * U) {
            fetch(next, i + 4 * U);
#pragma unroll
            for (int u = 0; u < U; u++, x += 4 * S::words) {
                if (i + 4 * u >= packs) break;
                const bool present = i + 4 * u + t < packs; /* else w is zero, x need not be finite */
#pragma unroll
                for (int part = 0; part < S::words; part += 4) {
                    unsigned of_x[N][4];
#pragma unroll
                    for (int n = 0; n < N; n++) {
                        const unsigned *const p = x + 8 * n * S::line + part;
#pragma unroll
                        for (int j = 0; j < 4; j++) of_x[n][j] = present ? p[j] : 0;
                        if (odd) {
                            const unsigned behind = present ? p[4] : 0;
#pragma unroll
                            for (int j = 0; j < 4; j++)
                                of_x[n][j] = __funnelshift_r(of_x[n][j], j < 3 ? of_x[n][j + 1] : behind, 16);
                        }
                    }
                    unsigned of_w[2][4];
                    gemv_mma_outputs<By>(of_w, now[u], part / 2);
                    gemv_mma<By, T>(sum, of_w, of_x);
                }
            }
#pragma unroll
            for (int u = 0; u < U; u++) now[u][0] = next[u][0], now[u][1] = next[u][1];
        }
        const int ends = steps - packs * V;
        if (ends > 0) { /* before the first pack: lanes 0; behind the last: lanes 1 */
            const int step = t == 0 ? 0 : head + packs * V, some = t == 0 ? head : t == 1 ? ends - head : 0;
            gemv_pack<T, V> p[2];
#pragma unroll
            for (int m = 0; m < 2; m++) p[m].gather(line + m * leap + step, 0, 8 * m < left ? some : 0);
#pragma unroll
            for (int part = 0; part < S::words; part += 4) {
                constexpr int elements = 16 / (int)sizeof(X); /* of four words */
                unsigned of_x[N][4], of_w[2][4];
#pragma unroll
                for (int n = 0; n < N; n++) {
                    gemv_pack<X, elements> b;
                    b.gather((const X *)(row + 8 * n * S::line) + step + part / 4 * elements, 0,
                             some - part / 4 * elements);
#pragma unroll
                    for (int j = 0; j < 4; j++) of_x[n][j] = b.word[j];
                }
                gemv_mma_outputs<By>(of_w, p, part / 2);
                gemv_mma<By, T>(sum, of_w, of_x);
            }
        }

        const gemv_place<T> at = tiles.at;
        const bool more = tiles.next(a);
        if (more) {
            begin();
            fetch(now, 0);
        }
        gemv_finish_mma<R>(
            a, at,
            [&](int n) {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sums[(2 * t + e % 2) * S::pitch + warp + GEMV_WARPS * (g + e / 2 * 8)] = sum[n][e];
            },
            [&](const gemv_place<T> &rows) {
                if (rows.row + warp >= a.batch) return;
                const int first = rows.tile * S::tile;
                float v[S::tile / 32];
#pragma unroll
                for (int i = 0; i < S::tile / 32; i++) v[i] = sums[warp * S::pitch + lane + 32 * i];
                if constexpr (By == GEMV_MMA_SPLIT) gemv_sum_again(a, rows, true, rows.row + warp, first, S::tile, v);
                gemv_finish(a, rows.head, rows.row + warp, rows.tile, first, S::tile, v);
            });
        if (!more) return;
    }
}

/* ---- launches ---- */

template <gemv_product By, int R, typename T>
ridge_status gemv_run_mma(gemv_args<T> a, bool along, const gemv_plan &plan, int side, cudaStream_t stream) {
    using across = gemv_mma_across_shape<T, By, R>;
    constexpr int along_bytes = gemv_mma_along_shape<T, By, R>::bytes, V = pack_width<T>;
    const auto kernel = along ? gemv_mma_along<T, By, R> : gemv_mma_across<T, By, R>;
    const int bytes = along ? along_bytes : across::bytes;
    a.alike = a.line % V == 0;
    a.to.count = gemv_count(a, along, plan);
    a.items = a.to.count * side;
    const int64_t each = gemv_turns_of(a.items, plan.groups * plan.shares, along ? 2 : across::blocks).tiles;
    const dim3 grid((unsigned)((a.items + each - 1) / each * plan.groups), (unsigned)plan.shares);
    return launch_overlapping(kernel, {grid, GEMV_THREADS, bytes}, stream, device_overlaps(), a);
}
template <gemv_product By, typename T>
ridge_status gemv_run_mma_rows(const gemv_args<T> &a, bool along, const gemv_plan &plan, int side,
                               cudaStream_t stream) {
    if constexpr (By == GEMV_MMA_16)
        if (plan.rows == 8) return gemv_run_mma<By, 8>(a, along, plan, side, stream);
    return plan.rows == 16 ? gemv_run_mma<By, 16>(a, along, plan, side, stream)
                           : gemv_run_mma<By, 32>(a, along, plan, side, stream);
}

template <typename T>
int gemv_count(const gemv_args<T> &a, bool along, const gemv_plan &plan) {
    if (along) return (a.outputs + 127) / 128;
    constexpr int V = pack_width<T>;
    if (plan.product != GEMV_FFMA) return gemv_across_tiles(a, V, 8 * V);
    const int v = gemv_lane_outputs(plan.rows, (int)sizeof(T));
    return gemv_across_tiles(a, v, 32 * v);
}

template <typename T>
ridge_status gemv_multiply(const gemv_args<T> &a, bool along, const gemv_plan &plan, int side, cudaStream_t stream) {
    if (plan.shares > 65535 || side > 65535) return RIDGE_UNSUPPORTED;
    if constexpr (sizeof(T) == 2) {
        if (plan.product == GEMV_MMA_16) return gemv_run_mma_rows<GEMV_MMA_16>(a, along, plan, side, stream);
        if (plan.product == GEMV_MMA_WIDENED) return gemv_run_mma_rows<GEMV_MMA_WIDENED>(a, along, plan, side, stream);
    } else {
        if (plan.product == GEMV_MMA_TF32) return gemv_run_mma_rows<GEMV_MMA_TF32>(a, along, plan, side, stream);
        if (plan.product == GEMV_MMA_SPLIT) return gemv_run_mma_rows<GEMV_MMA_SPLIT>(a, along, plan, side, stream);
    }
    switch (plan.rows) {
        case 1: return gemv_run_rows<1>(a, along, plan, side, stream);
        case 4: return gemv_run_rows<4>(a, along, plan, side, stream);
        case 8: return gemv_run_rows<8>(a, along, plan, side, stream);
        default: return gemv_run_rows<16>(a, along, plan, side, stream);
    }
}

}  // namespace ridge

#endif
