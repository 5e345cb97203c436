/* p = softmax(x w + b) in fp32, for one head or several: up to LINEAR_NARROW classes by the kernels of skinny/run.cuh,
 * else (or of a depth below LINEAR_SHALLOW) by gemm/any.cuh, then softmax in place. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_CUH

#include "cuda/epilogue/bias.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/rows/softmax.cuh"
#include "cuda/skinny/run.cuh"

namespace ridge {

/* Softmax of all rows of all heads in place. */
inline ridge_status linear_softmax_in_place(const linear_args &a, int heads, cudaStream_t stream) {
    for (int h = 0; h < heads; h++) {
        float *p = a.p + h * a.p_head;
        RIDGE_TRY(
            row_run(row_tensors<float, float>{p, p, a.batch, a.classes, a.p_row, a.p_row}, row_softmax(), stream));
    }
    return RIDGE_OK;
}

/* p = x w + b. */
inline ridge_status linear_logits(const linear_args &a, int heads, cudaStream_t stream) {
    const matrix_view x = {(void *)a.x, a.batch, a.depth, a.x_row, 1};
    const matrix_view w = {(void *)a.w, a.classes, a.depth, a.w_class, a.w_depth};
    const bool wide = any_is_wide(a.p, a.p_row) && a.p_head % 4 == 0;
    const any_logits_store<float> e = {a.p, a.p_row, a.b, a.batch, a.classes, a.p_head, a.b_head, wide};
    return any_run(any_matrix<float>(x), any_matrix<float>(w, a.w_head), a.batch, a.classes, a.depth, e, stream, heads);
}

/* Unfused: logits to p, softmax there. */
inline ridge_status linear_softmax_unfused(const linear_args &a, int heads, cudaStream_t stream) {
    RIDGE_TRY(linear_logits(a, heads, stream));
    return linear_softmax_in_place(a, heads, stream);
}

inline ridge_status linear_softmax_fused(const linear_args &a, int heads, cudaStream_t stream) {
    if (!linear_rows_fit(a.depth, a.classes)) return linear_softmax_unfused(a, heads, stream);
    using Op = linear_probabilities;
    return (a.w_class != 1 ? linear_rows_any<true, Op> : linear_rows_any<false, Op>)(a, Op(), heads, stream);
}

}  // namespace ridge

#endif
