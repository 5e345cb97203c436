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
/* Slices: threads that have an element together, each a slice of the shares. */
template <typename T, int Slices>
__global__ void __launch_bounds__(256) add_shares(sums_of_shares<T> s) {
    before_next_launch();
    constexpr int elements = 256 / Slices;
    const int64_t i = (int64_t)blockIdx.x * elements + threadIdx.x % elements, row = i / s.columns;
    const int64_t column = i - row * s.columns;
    const bool exists = row < s.rows;
    if (s.range && s.range->exact) return;
    const int slice = (int)threadIdx.x / elements, each = (s.shares + Slices - 1) / Slices;
    const float *from = s.sums + row * s.stride + column;
    float sum = 0;
    const int end = exists ? min(s.shares, (slice + 1) * each) : 0;
#pragma unroll 8
    for (int share = slice * each; share < end; share++) sum += from[share * s.next];
    if constexpr (Slices > 1) {
        __shared__ float slices[256];
        slices[threadIdx.x] = sum;
        __syncthreads();
        if (slice > 0) return;
        for (int other = 1; other < Slices; other++) sum += slices[threadIdx.x + other * elements];
    }
    if (!exists) return;
    if (s.range) sum *= s.range->undo;
    T *const to = s.to + row * s.to_stride + column * s.to_step;
    *to = from_float<T>(s.add ? to_float(*to) + sum : sum);
}
enum { SHARES_SLICED = 96 }; /* so many, and more, are added by several threads */

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
    const auto run = [&]<int Slices>() {
        const int64_t blocks = (s.rows * (int64_t)s.columns * Slices + 255) / 256;
        return launch_overlapping(add_shares<T, Slices>, {dim3((unsigned)blocks), 256}, stream, device_overlaps(), s);
    };
    return s.shares >= SHARES_SLICED ? run.template operator()<8>() : run.template operator()<1>();
}

}  // namespace ridge

#endif
