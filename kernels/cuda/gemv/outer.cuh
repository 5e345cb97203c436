/* out[i, j] = sum over few rows r of a[r, i] b[r, j], by multiply-adds for up to 16 rows: written once, in packs of 16
 * bytes however its lines lie. A lane has neighbouring j, of all rows, in registers; a is in shared memory. A warp has
 * lines whose numbers differ by multiples of eight, as in gemv/product.cuh. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_OUTER_CUH
#define RIDGE_KERNELS_CUDA_GEMV_OUTER_CUH

#include "cuda/gemv/call.cuh"
#include "cuda/gemv/mma.cuh"

namespace ridge {

/* Rows of fp32, or of type T. */
template <typename T>
struct gemv_rows_of {
    const void *base;
    bool fp32;
    int64_t line, step;

    __device__ float at(int row, int64_t k) const {
        const int64_t at = row * line + k * step;
        return fp32 ? ((const float *)base)[at] : to_float(((const T *)base)[at]);
    }
};
template <typename T>
struct gemv_outer_args {
    gemv_rows_of<T> a, b;
    T *out;
    int64_t line; /* of out: from one line to the next */
    int batch, lines, columns;
    int each; /* lines of a block: a multiple of eight */
};

/* Elements of `to`, a boundary of V elements: from `first` to before `last`. */
template <int V, typename T>
__device__ inline void gemv_store_pack(T *to, int first, int last, const float (&v)[V]) {
    pack<T, V> out;
#pragma unroll
    for (int e = 0; e < V; e++) out.v[e] = from_float<T>(v[e]);
    if (last - first == V) {
        if constexpr (sizeof out == 16)
            store_once(to, out);
        else
            *(pack<T, V> *)to = out;
    } else {
#pragma unroll
        for (int e = 0; e < V; e++)
            if (e >= first && e < last) to[e] = out.v[e];
    }
}

/* Sums that are not finite, by fp32 multiply-adds: an infinity has no lo part. a: of the line, of all rows. */
template <int V, typename T>
__device__ inline void gemv_outer_again(const gemv_outer_args<T> &p, const float *a, int column, float (&v)[V]) {
#pragma unroll
    for (int e = 0; e < V; e++) {
        if (isfinite(v[e]) || column + e < 0 || column + e >= p.columns) continue;
        v[e] = 0.0f;
#pragma unroll 1
        for (int r = 0; r < p.batch; r++) v[e] = fmaf(a[r], p.b.at(r, column + e), v[e]);
    }
}

template <typename T, int R>
struct gemv_outer_shape {
    static constexpr int V = sizeof(T) == 4 || R == 16 ? 4 : 8;
    static constexpr int window = 32 * V;
    static constexpr int most = 8192 / R; /* lines of a block: of a in 32 KiB of shared memory */
    static constexpr int blocks = R * V > 32 ? 2 : 3;
};

template <typename T, int R>
__global__ void __launch_bounds__(GEMV_THREADS, (gemv_outer_shape<T, R>::blocks))
    gemv_outer(const __grid_constant__ gemv_outer_args<T> p) {
    using S = gemv_outer_shape<T, R>;
    constexpr int V = S::V, N = R < 4 ? R : 4;
    extern __shared__ float4 gemv_room[];
    float *const room = (float *)gemv_room;
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int first_line = (int)blockIdx.y * p.each, lines = min(p.each, p.lines - first_line);
    for (int k = (int)threadIdx.x; k < lines; k += GEMV_THREADS) {
        float a[R];
#pragma unroll
        for (int r = 0; r < R; r++) a[r] = r < p.batch ? p.a.at(r, first_line + k) : 0.0f;
#pragma unroll
        for (int r = 0; r < R; r++) room[k * R + r] = a[r];
    }

    T *const line = p.out + (int64_t)(first_line + warp) * p.line;
    const int beyond = (int)((uintptr_t)line / sizeof(T) % V);
    const int column = (int)blockIdx.x * S::window - beyond + lane * V;
    const int first = max(-column, 0), last = min(p.columns - column, V);
    float b[R][V];
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int e = 0; e < V; e++) b[r][e] = e >= first && e < last && r < p.batch ? p.b.at(r, column + e) : 0.0f;
    __syncthreads();
    if (first >= last) return;
    for (int k = warp; k < lines; k += GEMV_WARPS) {
        float sum[V] = {};
#pragma unroll
        for (int r = 0; r < R; r += N) {
            const pack<float, N> a = *(const pack<float, N> *)(room + k * R + r);
#pragma unroll
            for (int j = 0; j < N; j++)
#pragma unroll
                for (int e = 0; e < V; e++) sum[e] = fmaf(a.v[j], b[r + j][e], sum[e]);
        }
        gemv_store_pack(line + (int64_t)(k - warp) * p.line + column, first, last, sum);
    }
}

template <int R, typename T>
ridge_status gemv_run_outer_rows(gemv_outer_args<T> p, cudaStream_t stream) {
    using S = gemv_outer_shape<T, R>;
    constexpr int64_t blocks = 4 * GEMV_BLOCKS, least = 64;
    const int64_t tiles = (p.columns + S::V - 2) / S::window + 1;
    int64_t each = (p.lines * tiles / blocks + least - 1) / least * least;
    each = each < least ? least : each > S::most ? S::most : each;
    p.each = (int)each;
    const int64_t y = (p.lines + each - 1) / each;
    if (y > 65535) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)tiles, (unsigned)y);
    return launch_overlapping(gemv_outer<T, R>, {grid, GEMV_THREADS, (int)each * R * 4}, stream, device_overlaps(), p);
}

/* ---- more than 16 rows: by the tensor cores ---- */

/* A warp has 16 of its lines at a time, rows of mma.sync's a, and 32 columns from its own boundary on, of hi and
 * lo parts 16, ordered so that a lane's sums are packs. b of those columns is in registers, for all lines of the block.
 */
template <typename T, gemv_product By, int R>
struct gemv_mma_outer_shape {
    static constexpr int V = pack_width<T>, columns = By == GEMV_MMA_SPLIT ? 16 : 32, packs = columns / (4 * V);
    static constexpr int slices = R / 8;             /* instructions of all rows */
    static constexpr int most = R == 32 ? 512 : 256; /* lines of a block: of a in shared memory */
    static constexpr int pitch = R + 8;              /* of a line of a: without conflicts of banks */
    static constexpr int staged = columns + V - 1, b_pitch = staged | 1; /* columns of b, all warps' */
    static constexpr int bytes = 4 * (most * pitch + R * b_pitch);
};

template <typename T, gemv_product By, int R>
__global__ void __launch_bounds__(GEMV_THREADS, By == GEMV_MMA_SPLIT && R == 64 ? 1 : 2)
    gemv_mma_outer(const __grid_constant__ gemv_outer_args<T> p) {
    using S = gemv_mma_outer_shape<T, By, R>;
    constexpr int V = S::V;
    extern __shared__ float4 gemv_room[];
    float *const a = (float *)gemv_room, *const b = a + S::most * S::pitch;
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int first_line = (int)blockIdx.y * p.each, lines = min(p.each, p.lines - first_line);
    const int of_warp = p.each / GEMV_WARPS; /* a warp's lines are together */
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < p.each; k += GEMV_THREADS)
#pragma unroll 8
        for (int r = 0; r < R; r++)
            a[(k % GEMV_WARPS * of_warp + k / GEMV_WARPS) * S::pitch + r] =
                k < lines && r < p.batch ? gemv_mma_rounded<By>(p.a.at(r, first_line + k)) : 0.0f;

    T *const line = p.out + (int64_t)(first_line + warp) * p.line;
    const int beyond = gemv_beyond<V>(line), tiles = (p.columns + V - 2) / S::columns + 1;
    const int count = (lines - warp + GEMV_WARPS - 1) / GEMV_WARPS; /* of the warp's lines */
    for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x) {
        const int from = tile * S::columns - (V - 1); /* the first that a warp may have */
        __syncthreads();                              /* b has been read */
        for (int i = (int)threadIdx.x; i < R * S::staged; i += GEMV_THREADS) {
            const int r = i / S::staged, column = from + i % S::staged;
            b[r * S::b_pitch + i % S::staged] =
                r < p.batch && column >= 0 && column < p.columns ? gemv_mma_rounded<By>(p.b.at(r, column)) : 0.0f;
        }
        __syncthreads();
        /* Columns of fragment n of a pack are V (g / 2) + 2 n and the next: a lane's sums are those of V t …. */
        unsigned of_b[S::packs * V / 2][2 * S::slices];
#pragma unroll
        for (int n = 0; n < S::packs * V / 2; n++)
#pragma unroll
            for (int s = 0; s < S::slices; s++)
#pragma unroll
                for (int h = 0; h < 2; h++)
                    of_b[n][2 * s + h] =
                        __float_as_uint(b[(8 * s + 2 * t + h) * S::b_pitch + V - 1 - beyond + n / (V / 2) * (4 * V) +
                                          V * (g / 2) + n % (V / 2) * 2 + g % 2]);

        const int column = tile * S::columns - beyond + V * t;
#pragma unroll 1
        for (int i = 0; i < count; i += 16) {
            const float *const of_a = a + (warp * of_warp + i + g) * S::pitch + 2 * t;
            float sum[S::packs * V / 2][4] = {};
#pragma unroll
            for (int s = 0; s < S::slices; s++) {
                const float2 low = *(const float2 *)(of_a + 8 * s),
                             high = *(const float2 *)(of_a + 8 * S::pitch + 8 * s);
                const unsigned w[1][4] = {
                    {__float_as_uint(low.x), __float_as_uint(high.x), __float_as_uint(low.y), __float_as_uint(high.y)}};
                unsigned x[S::packs * V / 2][2];
#pragma unroll
                for (int n = 0; n < S::packs * V / 2; n++) x[n][0] = of_b[n][2 * s], x[n][1] = of_b[n][2 * s + 1];
                gemv_mma<By, T>(sum, w, x);
            }
#pragma unroll
            for (int h = 0; h < 2; h++) /* lines g and g + 8 */
#pragma unroll
                for (int k = 0; k < S::packs; k++) {
                    float v[V];
#pragma unroll
                    for (int e = 0; e < V; e++) v[e] = sum[k * (V / 2) + e / 2][2 * h + e % 2];
                    const int mine = i + g + 8 * h, at = column + k * 4 * V;
                    if (mine >= count) continue;
                    if constexpr (By == GEMV_MMA_SPLIT) gemv_outer_again(p, of_a + 8 * h * S::pitch - 2 * t, at, v);
                    gemv_store_pack(line + (int64_t)mine * GEMV_WARPS * p.line + at, max(-at, 0),
                                    min(p.columns - at, V), v);
                }
        }
    }
}

template <gemv_product By, int R, typename T>
ridge_status gemv_run_mma_outer(gemv_outer_args<T> p, cudaStream_t stream) {
    using S = gemv_mma_outer_shape<T, By, R>;
    const auto kernel = gemv_mma_outer<T, By, R>;
    const int64_t tiles = (p.columns + S::V - 2) / S::columns + 1, least = 16 * GEMV_WARPS;
    int64_t each = S::most; /* fewer lines where blocks would not fill the GPU */
    while (each > least && (p.lines + each - 1) / each * tiles < GEMV_BLOCKS) each /= 2;
    p.each = (int)each;
    const int64_t y = (p.lines + each - 1) / each, x = (4 * GEMV_BLOCKS + y - 1) / y;
    if (y > 65535) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)(x < tiles ? x : tiles), (unsigned)y);
    return launch_overlapping(kernel, {grid, GEMV_THREADS, S::bytes}, stream, device_overlaps(), p);
}
template <gemv_product By, typename T>
ridge_status gemv_run_mma_outer_rows(const gemv_outer_args<T> &p, cudaStream_t stream) {
    return p.batch <= 32 ? gemv_run_mma_outer<By, 32>(p, stream) : gemv_run_mma_outer<By, 64>(p, stream);
}

template <typename T>
ridge_status gemv_multiply_outer(const gemv_outer_args<T> &p, gemv_product tensor, cudaStream_t stream) {
    if (p.batch > GEMV_ROWS) {
        if constexpr (sizeof(T) == 2)
            return gemv_run_mma_outer_rows<GEMV_MMA_WIDENED>(p, stream);
        else
            return tensor == GEMV_MMA_TF32 ? gemv_run_mma_outer_rows<GEMV_MMA_TF32>(p, stream)
                                           : gemv_run_mma_outer_rows<GEMV_MMA_SPLIT>(p, stream);
    }
    switch (gemv_rows(p.batch)) {
        case 1: return gemv_run_outer_rows<1>(p, stream);
        case 4: return gemv_run_outer_rows<4>(p, stream);
        case 8: return gemv_run_outer_rows<8>(p, stream);
        default: return gemv_run_outer_rows<16>(p, stream);
    }
}

}  // namespace ridge

#endif
