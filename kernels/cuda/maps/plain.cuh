/* Plain maps: one element a thread, as one writes it first. */
#ifndef RIDGE_KERNELS_CUDA_MAPS_PLAIN_CUH
#define RIDGE_KERNELS_CUDA_MAPS_PLAIN_CUH

#include "cuda/maps/map.cuh"

namespace ridge {

/* A matrix of which elements are read and written one at a time. */
template <typename T>
struct matrix {
    T *data;
    int64_t stride;
    __device__ inline T &at(int64_t i, int64_t j) const { return data[i * stride + j]; }
};

template <typename T>
matrix<const T> matrix_in(const DLTensor *t) {
    return {(const T *)ridge_data(t), ridge_row_stride(t)};
}
template <typename T>
matrix<T> matrix_out(const DLTensor *t) {
    return {(T *)ridge_data(t), ridge_row_stride(t)};
}

constexpr int plain_threads = 256;

template <typename F>
__global__ void __launch_bounds__(plain_threads) plain_kernel(int64_t rows, int64_t cols, F f) {
    const int64_t j = (int64_t)blockIdx.x * plain_threads + threadIdx.x;
    if (j >= cols) return;
    for (int64_t i = blockIdx.y; i < rows; i += gridDim.y) f(i, j);
}

/* f(i, j) for every element of [rows, cols]. */
template <typename F>
ridge_status launch_plain(const ridge_call *call, int64_t rows, int64_t cols, const F &f) {
    if (rows <= 0 || cols <= 0) return RIDGE_OK;
    const dim3 grid((unsigned)((cols + plain_threads - 1) / plain_threads), (unsigned)(rows < 65535 ? rows : 65535));
    return launch(plain_kernel<F>, {grid, plain_threads}, stream_of(call), rows, cols, f);
}
/* Of the first two extents. */
template <typename F>
ridge_status launch_plain(const ridge_call *call, const F &f) {
    return launch_plain(call, call->dim[0], call->dim[1], f);
}

}  // namespace ridge

#endif
