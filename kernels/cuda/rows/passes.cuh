/* Separate passes over memory, for baselines: elementwise maps between a matrix and fp32 temporaries, and reductions of
 * rows. Coalesced, 16 bytes at a time where both sides are aligned; nothing is kept from one kernel to the next. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_PASSES_CUH
#define RIDGE_KERNELS_CUDA_ROWS_PASSES_CUH

#include "cuda/rows/run.cuh"
#include "model/row_temporary.h"

namespace ridge {

/* The fp32 temporary of a call at the start of its scratch, as the y of a map from its x or the x of one to its y; and
 * what lies behind it: `rows` values for each of a few statistics. */
inline float *row_temporary(const ridge_call *call) { return (float *)call->scratch; }
inline float *row_statistic(const ridge_call *call, int which) {
    return row_temporary(call) + call->dim[0] * (row_temporary_length(call->dim[1]) + which);
}
template <typename T>
row_tensors<T, float> row_to_temporary(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[0]),
            row_temporary(call),
            call->dim[0],
            call->dim[1],
            ridge_row_stride(&call->in[0]),
            row_temporary_length(call->dim[1])};
}
template <typename U>
row_tensors<float, U> row_from_temporary(const ridge_call *call) {
    return {row_temporary(call), (U *)ridge_data(&call->out[0]),     call->dim[0],
            call->dim[1],        row_temporary_length(call->dim[1]), ridge_row_stride(&call->out[0])};
}

enum { ROW_PASS_THREADS = 256, ROW_PASS_ELEMENTS = 8 };

/* y[i,j] = f(x[i,j], i): a block has ROW_PASS_THREADS * ROW_PASS_ELEMENTS columns of one row. */
template <int Width, typename T, typename U, typename F>
__global__ void __launch_bounds__(ROW_PASS_THREADS, 4) row_map_kernel(row_tensors<T, U> io, int64_t tiles, F f) {
    const int64_t row = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int64_t begin = tile * (ROW_PASS_THREADS * ROW_PASS_ELEMENTS);
    const T *x = io.x + row * io.x_stride;
    U *y = io.y + row * io.y_stride;
#pragma unroll
    for (int k = 0; k < ROW_PASS_ELEMENTS / Width; k++) {
        const int64_t j = begin + (k * ROW_PASS_THREADS + (int64_t)threadIdx.x) * Width;
        if (Width > 1 && j + Width <= io.n) {
            const pack<T, Width> in = *(const pack<T, Width> *)(x + j);
            pack<U, Width> out;
#pragma unroll
            for (int e = 0; e < Width; e++) out.v[e] = from_float<U>(f(to_float(in.v[e]), row));
            *(pack<U, Width> *)(y + j) = out;
        } else {
            for (int64_t e = j; e < j + Width && e < io.n; e++) y[e] = from_float<U>(f(to_float(x[e]), row));
        }
    }
}

template <typename T, typename U, typename F>
ridge_status row_map(const row_tensors<T, U> &io, F f, cudaStream_t stream) {
    constexpr int W = pack_width < T >> pack_width<U> ? pack_width<T> : pack_width<U>;
    constexpr int block = ROW_PASS_THREADS * ROW_PASS_ELEMENTS;
    const int64_t tiles = (io.n + block - 1) / block;
    if (io.rows == 0) return RIDGE_OK;
    if (!row_grid_fits(io.rows * tiles)) return RIDGE_UNSUPPORTED;
    const uintptr_t x_step = (uintptr_t)io.x_stride * sizeof(T), y_step = (uintptr_t)io.y_stride * sizeof(U);
    const bool aligned = ((uintptr_t)io.x | (uintptr_t)io.y | x_step | y_step) % 16 == 0;
    const auto kernel = aligned ? row_map_kernel<W, T, U, F> : row_map_kernel<1, T, U, F>;
    return launch(kernel, {dim3((unsigned)(io.rows * tiles)), ROW_PASS_THREADS}, stream, io, tiles, f);
}

/* A block a row. */
template <typename T, typename F, typename Merge>
__global__ void __launch_bounds__(ROW_PASS_THREADS)
    row_reduce_kernel(const T *x, int64_t stride, int64_t n, float *out, float none, F f, Merge merge) {
    constexpr int W = pack_width<T>;
    __shared__ row_slots<ROW_PASS_THREADS> slots;
    row_exchange<ROW_PASS_THREADS, false> exchange(&slots);
    const row_span<T, float, W, int64_t> row(x + blockIdx.x * stride, nullptr, n);
    float all[W];
#pragma unroll
    for (int e = 0; e < W; e++) all[e] = none;
#pragma unroll 4
    for (int64_t k = threadIdx.x; k < row.packs; k += ROW_PASS_THREADS) {
        const pack<T, W> v = *(const pack<T, W> *)(row.x + row.body_column(k));
#pragma unroll
        for (int e = 0; e < W; e++) all[e] = merge(all[e], f(to_float(v.v[e])));
    }
    if ((int)threadIdx.x < row.edges) all[0] = merge(all[0], f(to_float(row.x[row.edge_column(threadIdx.x)])));
#pragma unroll
    for (int e = 1; e < W; e++) all[0] = merge(all[0], all[e]);
    const float total = exchange.merged(all[0], merge);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

/* out[i] = merge over j of f(x[i,j]); none: what merges without effect. */
template <typename T, typename F, typename Merge>
ridge_status row_reduce(const T *x, int64_t stride, int64_t rows, int64_t n, float *out, float none, F f, Merge merge,
                        cudaStream_t stream) {
    if (rows == 0) return RIDGE_OK;
    if (!row_grid_fits(rows)) return RIDGE_UNSUPPORTED;
    return launch(row_reduce_kernel<T, F, Merge>, {dim3((unsigned)rows), ROW_PASS_THREADS}, stream, x, stride, n, out,
                  none, f, merge);
}

}  // namespace ridge

#endif
