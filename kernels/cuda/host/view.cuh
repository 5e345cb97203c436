/* Matrices in memory as a kernel takes them. Host code. */
#ifndef RIDGE_KERNELS_CUDA_HOST_VIEW_CUH
#define RIDGE_KERNELS_CUDA_HOST_VIEW_CUH

#include <stdint.h>
#include <cuda_runtime.h>

extern "C" {
#include "ridge/target.h"
}

namespace ridge {

/* Whether p lies on a 16-byte boundary. */
__host__ __device__ inline bool is_aligned16(const void *p) { return ((uintptr_t)p & 15) == 0; }

/* rows x columns; element (i, j) is at i line + j step, and line or step is 1. */
struct matrix_view {
    void *base;
    int64_t rows, columns, line, step;

    bool by_rows(void) const { return step == 1; }
};

inline matrix_view transposed(const matrix_view &m) { return {m.base, m.columns, m.rows, m.step, m.line}; }
template <typename T>
matrix_view some_rows(const matrix_view &m, int64_t first, int64_t count) {
    return {(T *)m.base + first * m.line, count, m.columns, m.line, m.step};
}
inline matrix_view view_of(const DLTensor &t) {
    const int64_t rows = t.shape[0], columns = t.shape[1];
    const int64_t line = t.strides && rows > 1 ? t.strides[0] : columns,
                  step = t.strides && columns > 1 ? t.strides[1] : 1;
    return {ridge_data(&t), rows, columns, step == 1 && line < columns ? columns : line, step};
}

/* The same as lines of `along` contiguous elements, `stride` elements from one line to the next. */
struct matrix_lines {
    const void *base;
    int64_t along, lines, stride;
};
inline matrix_lines lines_of(const matrix_view &m) {
    return m.by_rows() ? matrix_lines{m.base, m.columns, m.rows, m.line}
                       : matrix_lines{m.base, m.rows, m.columns, m.step};
}

}  // namespace ridge

#endif
