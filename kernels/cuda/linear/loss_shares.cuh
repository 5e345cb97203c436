/* Split-K of gradients' products whose tiles are fewer than SMs, by tensor cores or by multiply-adds: blocks share the
 * depth, the sums of all shares go to memory, and from there, in the order of the shares, to the gradient. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_SHARES_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_SHARES_CUH

#include "cuda/linear/loss_call.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/pack.cuh"

namespace ridge {

/* Sums of all shares to a matrix of type T; an element by a thread. */
template <typename T>
struct sums_of_shares {
    float *sums;
    int64_t stride, next; /* next: from one share's to the next's */
    int shares, rows, columns;
    T *to;
    int64_t to_stride, to_step;
    bool add;                    /* to what is there */
    const gradient_range *range; /* NULL, or f16: what undoes the gradients' scale; nothing if these are fp32 */
};
template <typename T>
__global__ void __launch_bounds__(256) add_shares(sums_of_shares<T> s) {
    before_next_launch();
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x, row = i / s.columns, column = i % s.columns;
    if (row >= s.rows || (s.range && s.range->exact)) return;
    const float *from = s.sums + row * s.stride + column;
    T *const to = s.to + row * s.to_stride + column * s.to_step;
    float sum = 0;
#pragma unroll 8
    for (int share = 0; share < s.shares; share++) sum += from[share * s.next];
    if (s.range) sum *= s.range->undo;
    *to = from_float<T>(s.add ? to_float(*to) + sum : sum);
}

template <typename T>
sums_of_shares<T> shares_of(const linear_loss_call &c, const matrix_view &to, int shares) {
    sums_of_shares<T> s = {};
    s.sums = c.part<float>(c.at.sums), s.stride = linear_split_sums_stride(to.columns);
    s.shares = shares, s.rows = (int)to.rows, s.columns = (int)to.columns, s.next = s.stride * s.rows;
    s.to = (T *)to.base, s.to_stride = to.line, s.to_step = to.step;
    return s;
}
template <typename T>
ridge_status add_all_shares(const sums_of_shares<T> &s, cudaStream_t stream) {
    const unsigned blocks = (unsigned)((s.rows * (int64_t)s.columns + 255) / 256);
    return launch_overlapping(add_shares<T>, {dim3(blocks), 256}, stream, device_overlaps(), s);
}

}  // namespace ridge

#endif
