/* The rows of a call, and the cases that an operation's `finish` distinguishes. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_TENSORS_CUH
#define RIDGE_KERNELS_CUDA_ROWS_TENSORS_CUH

#include "cuda/host/launch.cuh"
#include "cuda/rows/row.cuh"

namespace ridge {

template <typename T, typename U>
struct row_tensors {
    const T *x;
    U *y;
    int64_t rows, n, x_stride, y_stride;

    template <int Width, typename Index>
    __device__ row_span<T, U, Width, Index> at(int64_t row, bool exists) const {
        return exists ? row_span<T, U, Width, Index>(x + row * x_stride, y + row * y_stride, (Index)n)
                      : row_span<T, U, Width, Index>(x, y, 0);
    }
};

/* x and y of a call. */
template <typename T>
row_tensors<T, T> row_tensors_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[0]), (T *)ridge_data(&call->out[0]), call->dim[0], call->dim[1],
            ridge_row_stride(&call->in[0]),      ridge_row_stride(&call->out[0])};
}

/* Parameters: as they come; aligned; aligned and in shared memory. Rows: USUAL need no rescue. */
enum { ROW_GENERAL, ROW_USUAL, ROW_SHARED_GENERAL, ROW_SHARED_USUAL };
constexpr bool row_is_usual(int how) { return how == ROW_USUAL || how == ROW_SHARED_USUAL; }
constexpr bool row_is_shared(int how) { return how == ROW_SHARED_GENERAL || how == ROW_SHARED_USUAL; }

}  // namespace ridge

#endif
