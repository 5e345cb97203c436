/* A matrix whose rows kernels take, and that of a call's tensor. */
#ifndef RIDGE_KERNELS_CUDA_HOST_ROW_MATRIX_CUH
#define RIDGE_KERNELS_CUDA_HOST_ROW_MATRIX_CUH

#include "cuda/host/launch.cuh"

namespace ridge {

template <typename T>
struct row_matrix {
    T *base;
    int64_t line; /* elements from one row to the next */
    __device__ T *row(int64_t i) const { return base + i * line; }
};

template <typename T>
row_matrix<T> row_matrix_of(const DLTensor *t) {
    return {(T *)ridge_data(t), ridge_row_stride(t)};
}

}  // namespace ridge

#endif
