/* Products of few rows, each storage type compiled once: gemv/gemv_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_CALL_CUH
#define RIDGE_KERNELS_CUDA_GEMV_CALL_CUH

#include "cuda/gemv/args.cuh"

namespace ridge {

template <typename T>
struct gemv_outer_args;

/* Whether w's lines, [outputs, depth], run along the depth. */
inline bool gemv_lies_along(const matrix_view &w) { return w.by_rows() || w.columns == 1; }

/* x: [rows, depth], of the storage type. What becomes of the sums is not in it. */
template <typename T>
gemv_args<T> gemv_args_of(const matrix_view &x, const matrix_view &w, const gemv_plan &plan) {
    gemv_args<T> a = {};
    a.x = x.base, a.x_fp32 = sizeof(T) == 4, a.x_line = x.line, a.x_step = x.step;
    a.w = (const T *)w.base, a.line = gemv_lies_along(w) ? w.line : w.step;
    a.batch = (int)x.rows, a.depth = (int)x.columns, a.outputs = (int)w.rows;
    a.groups = plan.groups, a.each = (int)plan.each;
    return a;
}

/* z = x w^T. along: w's lines run along the depth, else along the outputs. side: heads. */
template <typename T>
ridge_status gemv_multiply(const gemv_args<T> &a, bool along, const gemv_plan &plan, int side, cudaStream_t stream);
/* Parts of a row that it leaves, with one share of the depth. */
template <typename T>
int gemv_count(const gemv_args<T> &a, bool along, const gemv_plan &plan);
/* Sums of few rows' products. tensor: what the tensor cores do for more than 16 rows. */
template <typename T>
ridge_status gemv_multiply_outer(const gemv_outer_args<T> &p, gemv_product tensor, cudaStream_t stream);

#define RIDGE_GEMV_OF(T)                                                                                      \
    template ridge_status gemv_multiply<T>(const gemv_args<T> &, bool, const gemv_plan &, int, cudaStream_t); \
    template int gemv_count<T>(const gemv_args<T> &, bool, const gemv_plan &);                                \
    template ridge_status gemv_multiply_outer<T>(const gemv_outer_args<T> &, gemv_product, cudaStream_t);

}  // namespace ridge

#endif
