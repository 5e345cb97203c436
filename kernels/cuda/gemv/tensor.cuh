/* Products of few rows in 16 bits by the tensor cores, for more rows than multiply-adds keep pace with: 9 and more. As
 * in gemv/product.cuh w is read once, in packs of 16 bytes however its lines lie, here straight into fragments: outputs
 * are rows of mma_m16n8k16's a, rows of x are columns of its b.
 *
 *   across   a lane has four lines of eight outputs; pairs of lines are made in registers
 *   along    a lane has eight steps of the depth of two outputs
 *
 * Which step of the depth is which of the instruction's is of no matter, as long as a and b agree. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_TENSOR_CUH
#define RIDGE_KERNELS_CUDA_GEMV_TENSOR_CUH

#include "cuda/gemv/product.cuh"
#include "cuda/mma/sm80.cuh"

namespace ridge {

/* x as 16 bits, step k of row r at place(k) of line r, filled up with zeros to `padded` steps. */
template <int R, typename T, typename F>
__device__ inline void gemv_fill_words(const gemv_args<T> &a, const gemv_place<T> &at, int padded, int line, T *x,
                                       const F &place) {
    constexpr int N = 8; /* loads of a thread in flight */
    const T *const from = (const T *)a.x + at.row * a.x_line + at.first * a.x_step;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < padded; k += GEMV_THREADS)
#pragma unroll 1
        for (int r = 0; r < R; r += N) {
            T v[N];
#pragma unroll
            for (int i = 0; i < N; i++)
                v[i] = k < at.steps && at.row + r + i < a.batch ? from[(r + i) * a.x_line + k * a.x_step]
                                                                : from_float<T>(0.0f);
#pragma unroll
            for (int i = 0; i < N; i++) x[(r + i) * line + place(k)] = v[i];
        }
}

/* ---- lines along the outputs ---- */

template <typename T, int R>
struct gemv_mma_across_shape {
    static constexpr int V = 8, window = 64, lines = 16;       /* of a warp at a time */
    static constexpr int each = GEMV_X16 / R;                  /* steps of the depth, at most */
    static constexpr int run = each / GEMV_WARPS;              /* of them, a warp's */
    static constexpr int line = (each / 2 + 31) / 32 * 32 + 8; /* words of a row of x: without conflicts of banks */
    static constexpr int words = R * line;
    static constexpr int floats = GEMV_WARPS * R * window; /* where warps' sums meet */
    static constexpr int bytes = 4 * (words > floats ? words : floats);
    static_assert(run % lines == 0);
};

/* Pairs of lines of one output: of the low or the high halves of two words. */
__device__ inline unsigned gemv_low(unsigned a, unsigned b) { return __byte_perm(a, b, 0x5410); }
__device__ inline unsigned gemv_high(unsigned a, unsigned b) { return __byte_perm(a, b, 0x7632); }

template <typename T, int R>
__global__ void __launch_bounds__(GEMV_THREADS, 2) gemv_mma_across(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_mma_across_shape<T, R>;
    constexpr int V = S::V;
    extern __shared__ float4 gemv_room[];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const gemv_place<T> at(a, R);
    const T *const w = a.w + at.head * a.head + (int64_t)at.first * a.line;
    const int tile = at.tile * (a.alike ? S::window : S::window - V), beyond = gemv_beyond<V>(w + warp * a.line);
    const int column = tile - beyond + g * V, first = max(-column, 0), last = min(a.outputs - column, V);
    const bool whole = first == 0 && last == V, some = !whole && first < last;
    const int count = (at.steps - warp + GEMV_WARPS - 1) / GEMV_WARPS; /* of the warp's lines */
    const int64_t leap = GEMV_WARPS * a.line;
    const T *from = w + (int64_t)(warp + 4 * t * GEMV_WARPS) * a.line + column;

    gemv_pack<T, V> now[4], next[4];
    const auto fetch = [&](gemv_pack<T, V>(&p)[4], int i) {
#pragma unroll
        for (int q = 0; q < 4; q++) p[q].load(from + q * leap, whole && i + 4 * t + q < count);
        if (some) {
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (i + 4 * t + q < count) p[q].gather(from + q * leap, first, last);
        }
        from += S::lines * leap;
    };
    float sum[4][R / 8][4] = {};
    fetch(now, 0);
    /* x: a warp's lines together, filled up with zeros */
    const int padded = (at.steps + S::lines * GEMV_WARPS - 1) / (S::lines * GEMV_WARPS) * S::lines * GEMV_WARPS;
    gemv_fill_words<R>(a, at, padded, 2 * S::line, (T *)gemv_room,
                       [](int k) { return k % GEMV_WARPS * S::run + k / GEMV_WARPS; });

    __syncthreads();
    const unsigned *x = (const unsigned *)gemv_room + g * S::line + warp * (S::run / 2) + 2 * t;
    for (int i = 0; i < count; i += S::lines, x += S::lines / 2) {
        fetch(next, i + S::lines);
        unsigned b[R / 8][2];
#pragma unroll
        for (int n = 0; n < R / 8; n++) {
            const uint2 two = *(const uint2 *)(x + 8 * n * S::line);
            b[n][0] = two.x, b[n][1] = two.y;
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const unsigned pairs[4] = {
                gemv_low(now[0].word[j], now[1].word[j]), gemv_high(now[0].word[j], now[1].word[j]),
                gemv_low(now[2].word[j], now[3].word[j]), gemv_high(now[2].word[j], now[3].word[j])};
#pragma unroll
            for (int n = 0; n < R / 8; n++) mma_m16n8k16(T(), sum[j][n], pairs, b[n][0], b[n][1]);
        }
#pragma unroll
        for (int q = 0; q < 4; q++) now[q] = next[q];
    }

    __syncthreads();
    float *const room = (float *)gemv_room;
#pragma unroll
    for (int n = 0; n < R / 8; n++)
#pragma unroll
        for (int h = 0; h < 2; h++) { /* rows 2 t and 2 t + 1; outputs 8 g + 2 j and the next */
            float *const to = room + (warp * R + 8 * n + 2 * t + h) * S::window + 8 * g;
            *(float4 *)to = make_float4(sum[0][n][h], sum[0][n][2 + h], sum[1][n][h], sum[1][n][2 + h]);
            *(float4 *)(to + 4) = make_float4(sum[2][n][h], sum[2][n][2 + h], sum[3][n][h], sum[3][n][2 + h]);
        }
    __syncthreads();
    gemv_finish_warps<R, S::window, V>(a, at, w, room, tile - beyond);
}

/* ---- lines along the depth ---- */

template <typename T, int R>
struct gemv_mma_along_shape {
    static constexpr int V = 8, tile = 128, slab = 32; /* steps of the depth at a time */
    static constexpr int ahead = 2;                    /* slabs */
    static constexpr int each = GEMV_X16 / R;
    static constexpr int line = (each / 2 + 31) / 32 * 32 + 16 + 3; /* words of a row of x */
    static constexpr int bytes = 4 * R * (line > tile ? line : tile);
};

template <typename T, int R>
__global__ void __launch_bounds__(GEMV_THREADS, 2) gemv_mma_along(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_mma_along_shape<T, R>;
    constexpr int V = S::V, U = S::ahead;
    extern __shared__ float4 gemv_room[];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const gemv_place<T> at(a, R);
    const int tile = at.tile * S::tile;
    const T *const lines = a.w + at.head * a.head + at.first + (int64_t)(tile + warp) * a.line;
    const T *const line = lines + (int64_t)(g * GEMV_WARPS) * a.line;
    const int64_t leap = (int64_t)(8 * GEMV_WARPS) * a.line; /* to the lane's other output */
    const int left = (a.outputs - tile - warp + GEMV_WARPS - 1) / GEMV_WARPS - g;
    const int head = min((V - gemv_beyond<V>(lines)) % V, at.steps);
    const int packs = (at.steps - head) / V, tail = at.steps - head - packs * V;
    const T *from = line + head + t * V;

    gemv_pack<T, V> now[U][2], next[U][2];
    const auto fetch = [&](gemv_pack<T, V>(&p)[U][2], int i) {
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int m = 0; m < 2; m++)
                p[u][m].load(from + m * leap + u * S::slab, 8 * m < left && i + 4 * u + t < packs);
        from += U * S::slab;
    };
    float sum[R / 8][4] = {};
    fetch(now, 0);
    gemv_fill_words<R>(a, at, at.steps + V, 2 * S::line, (T *)gemv_room, [](int k) { return k; });

    __syncthreads();
    const bool odd = head % 2;
    const unsigned *x = (const unsigned *)gemv_room + g * S::line + head / 2 + t * (V / 2);
    for (int i = 0; i < packs; i += 4 * U) {
        fetch(next, i + 4 * U);
#pragma unroll
        for (int u = 0; u < U; u++, x += S::slab / 2) {
            if (i + 4 * u >= packs) break;
            const bool present = i + 4 * u + t < packs; /* else w is zero, x need not be finite */
#pragma unroll
            for (int n = 0; n < R / 8; n++) {
                const unsigned *const p = x + 8 * n * S::line;
                unsigned b[5] = {};
#pragma unroll
                for (int j = 0; j < 4; j++) b[j] = present ? p[j] : 0;
                if (odd) {
                    b[4] = present ? p[4] : 0;
#pragma unroll
                    for (int j = 0; j < 4; j++) b[j] = __funnelshift_r(b[j], b[j + 1], 16);
                }
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    const unsigned of_w[4] = {now[u][0].word[2 * j], now[u][1].word[2 * j], now[u][0].word[2 * j + 1],
                                              now[u][1].word[2 * j + 1]};
                    mma_m16n8k16(T(), sum[n], of_w, b[2 * j], b[2 * j + 1]);
                }
            }
        }
#pragma unroll
        for (int u = 0; u < U; u++) now[u][0] = next[u][0], now[u][1] = next[u][1];
    }
    if (head + tail > 0) { /* before the first pack: lanes 0; behind the last: lanes 1 */
        const int step = t == 0 ? 0 : head + packs * V, some = t == 0 ? head : t == 1 ? tail : 0;
        gemv_pack<T, V> p[2], b;
#pragma unroll
        for (int m = 0; m < 2; m++) p[m].gather(line + m * leap + step, 0, 8 * m < left ? some : 0);
#pragma unroll
        for (int n = 0; n < R / 8; n++) {
            b.gather((const T *)((const unsigned *)gemv_room + (8 * n + g) * S::line) + step, 0, some);
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const unsigned of_w[4] = {p[0].word[2 * j], p[1].word[2 * j], p[0].word[2 * j + 1],
                                          p[1].word[2 * j + 1]};
                mma_m16n8k16(T(), sum[n], of_w, b.word[2 * j], b.word[2 * j + 1]);
            }
        }
    }

    __syncthreads(); /* x has been read */
    float *const room = (float *)gemv_room;
#pragma unroll
    for (int n = 0; n < R / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            room[(8 * n + 2 * t + e % 2) * S::tile + warp + GEMV_WARPS * (g + e / 2 * 8)] = sum[n][e];
    __syncthreads();
    for (int r = warp; r < R && at.row + r < a.batch; r += GEMV_WARPS) {
        float v[S::tile / 32];
#pragma unroll
        for (int i = 0; i < S::tile / 32; i++) v[i] = room[r * S::tile + lane + 32 * i];
        gemv_finish(a, at.head, at.row + r, at.tile, tile, S::tile, v);
    }
}

/* ---- launches ---- */

template <int R, typename T>
ridge_status gemv_run_mma(gemv_args<T> a, bool along, const gemv_plan &plan, int side, cudaStream_t stream) {
    constexpr int across_bytes = gemv_mma_across_shape<T, R>::bytes, along_bytes = gemv_mma_along_shape<T, R>::bytes;
    const auto kernel = along ? gemv_mma_along<T, R> : gemv_mma_across<T, R>;
    const int bytes = along ? along_bytes : across_bytes;
    static allowed_per_device allowed[2];
    RIDGE_TRY(cuda_status(allowed[along].get([&] { return allow_shared((const void *)kernel, bytes); }),
                          "cudaFuncSetAttribute"));
    a.alike = a.line % 8 == 0;
    a.to.count = along ? (a.outputs + 127) / 128 : gemv_across_tiles(a, 8, 64);
    const dim3 grid((unsigned)(a.to.count * plan.groups), (unsigned)plan.shares, (unsigned)side);
    return launch_overlapping(kernel, {grid, GEMV_THREADS, bytes}, stream, device_overlaps(), a);
}

template <typename T>
int gemv_count(const gemv_args<T> &a, bool along, const gemv_plan &plan) {
    if (along) return (a.outputs + 127) / 128;
    if (plan.tensor) return gemv_across_tiles(a, 8, 64);
    const int v = sizeof(T) == 4 || plan.rows == 16 ? 4 : 8;
    return gemv_across_tiles(a, v, 32 * v);
}

template <typename T>
ridge_status gemv_multiply(const gemv_args<T> &a, bool along, const gemv_plan &plan, int side, cudaStream_t stream) {
    if (plan.shares > 65535 || side > 65535) return RIDGE_UNSUPPORTED;
    if constexpr (sizeof(T) == 2)
        if (plan.tensor)
            return plan.rows == 16 ? gemv_run_mma<16>(a, along, plan, side, stream)
                                   : gemv_run_mma<32>(a, along, plan, side, stream);
    switch (plan.rows) {
        case 1: return gemv_run_rows<1>(a, along, plan, side, stream);
        case 4: return gemv_run_rows<4>(a, along, plan, side, stream);
        case 8: return gemv_run_rows<8>(a, along, plan, side, stream);
        default: return gemv_run_rows<16>(a, along, plan, side, stream);
    }
}

}  // namespace ridge

#endif
