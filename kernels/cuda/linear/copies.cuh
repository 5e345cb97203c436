/* Operands of a linear layer copied to aligned memory, and results back: gemm/repack.cuh, compiled once. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_COPIES_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_COPIES_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

extern "C" {
#include "cuda/linear/problem.h"
}

namespace ridge {

/* `to` is to.lines lines of to.stride elements without gaps: what `from` has of it, else zeros. Of `count` matrices,
 * `next` elements from one of `from` to the next; those of `to` follow each other. */
struct linear_copy {
    matrix_lines from, to;
    int count = 1;
    int64_t next = 0;
};
/* Both in one launch; of elements of so many bytes: 2 or 4. */
ridge_status linear_copy_both(int bytes, const linear_copy &a, const linear_copy &b, cudaStream_t stream);
/* The elements of `to` are those of `from`, which lies the same way; of 2 bytes. */
ridge_status linear_copy_back(const matrix_view &from, const matrix_view &to, cudaStream_t stream);

inline int64_t linear_padded(int64_t depth) { return (depth + 15) / 16 * 16; }
/* The copy of m: [rows, depth], at `to`: the depth filled up to a multiple of 16; of lines across the depth, `stride`
 * elements from one to the next. */
inline matrix_view linear_copied(const matrix_view &m, void *to, int64_t stride) {
    const int64_t padded = linear_padded(m.columns);
    if (m.by_rows()) return {to, m.rows, padded, padded, 1};
    return {to, m.rows, padded, 1, stride};
}
inline linear_copy linear_copy_of(const matrix_view &m, const matrix_view &copy) {
    return {lines_of(m), lines_of(copy)};
}

inline linear_matrix linear_facts_of(const matrix_view &m) {
    return {m.rows, m.columns, m.line, m.step, (unsigned)((uintptr_t)m.base % RIDGE_OFFSETS)};
}

}  // namespace ridge

#endif
