/* out[i, j] = sum over few rows r of a[r, i] b[r, j]: written once, in packs of 16 bytes however its lines lie. A lane
 * has neighbouring j, of all rows, in registers; a is in shared memory. A warp has lines whose numbers differ by
 * multiples of eight, as in gemv/product.cuh. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_OUTER_CUH
#define RIDGE_KERNELS_CUDA_GEMV_OUTER_CUH

#include "cuda/gemv/call.cuh"

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
        pack<T, V> out;
#pragma unroll
        for (int e = 0; e < V; e++) out.v[e] = from_float<T>(sum[e]);
        T *const to = line + (int64_t)(k - warp) * p.line + column;
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

template <typename T>
ridge_status gemv_multiply_outer(const gemv_outer_args<T> &p, cudaStream_t stream) {
    switch (gemv_rows(p.batch)) {
        case 1: return gemv_run_outer_rows<1>(p, stream);
        case 4: return gemv_run_outer_rows<4>(p, stream);
        case 8: return gemv_run_outer_rows<8>(p, stream);
        default: return gemv_run_outer_rows<16>(p, stream);
    }
}

}  // namespace ridge

#endif
