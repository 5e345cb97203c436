/* Products of few rows, each storage type compiled once: gemv/gemv_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_CALL_CUH
#define RIDGE_KERNELS_CUDA_GEMV_CALL_CUH

#include "cuda/gemv/args.cuh"

namespace ridge {

template <typename T>
struct gemv_outer_args;

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
