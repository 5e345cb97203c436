/* What the kernels of few rows (gemv/product.cuh, gemv/passes.cuh) are told, and what ends a tile of sums. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_ARGS_CUH
#define RIDGE_KERNELS_CUDA_GEMV_ARGS_CUH

#include "cuda/epilogue/loss.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

extern "C" {
#include "cuda/gemv/plan.h"
}

namespace ridge {

constexpr int GEMV_THREADS = 256, GEMV_WARPS = 8;

/* What becomes of a row's sums. Logits are v = (sum + bias) before; their exponentials are 2^((v - shift) after): one
 * of the factors is log2 e. Rows are those of all heads, a head's together. */
struct gemv_logits {
    const void *bias; /* NULL: sums stay as they are, one matrix for each share */
    bool bias_fp32;   /* else of the storage type */
    int64_t bias_head;
    float before, after;
    float *z; /* [shares or 1][heads batch][line]; NULL: not wanted */
    int64_t line, next;
    softmax_part *parts; /* [heads batch][count] */
    float *sums;         /* the same: of logits; NULL: not wanted */
    int count;
    label_view labels; /* base: NULL where there are none */
    float *label_logit;
};

/* x: [batch, depth]. w: lines of contiguous elements, `line` from one to the next: along the outputs, or along the
 * depth. */
template <typename T>
struct gemv_args {
    const void *x;
    bool x_fp32; /* else of type T */
    int64_t x_line, x_step;
    const T *w;
    int64_t line, head;
    int batch, depth, outputs;
    int groups, each;
    bool alike; /* all lines of a head lie alike against 16-byte boundaries */
    gemv_logits to;
    int items; /* tiles of outputs of all heads: by tensor cores */

    __device__ float x_at(int row, int k) const {
        const int64_t at = row * x_line + k * x_step;
        return x_fp32 ? ((const float *)x)[at] : to_float(((const T *)x)[at]);
    }
    __device__ float bias_at(int head, int column) const {
        const int64_t at = head * to.bias_head + column;
        return to.bias_fp32 ? ((const float *)to.bias)[at] : to_float(((const T *)to.bias)[at]);
    }
};

/* after: see gemv_logits. A part of nothing but -inf has a shift below all others, and no sum. */
constexpr float GEMV_LOWEST = -0x1p100f;
__device__ inline softmax_part gemv_merge(softmax_part a, softmax_part b, float after) {
    const float shift = fmaxf(a.shift, b.shift);
    return {shift, a.sum * exp2f((a.shift - shift) * after) + b.sum * exp2f((b.shift - shift) * after)};
}
__device__ inline softmax_part gemv_warp_part(softmax_part p, float after) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        p = gemv_merge(p, {__shfl_xor_sync(0xffffffffu, p.shift, mask), __shfl_xor_sync(0xffffffffu, p.sum, mask)},
                       after);
    return p;
}
/* Of N logits of a thread; -inf: none. */
template <int N>
__device__ inline softmax_part gemv_part(const float (&v)[N], float after) {
    float top = v[0];
#pragma unroll
    for (int i = 1; i < N; i++) top = fmaxf(top, v[i]);
    softmax_part p = {top == -INFINITY ? GEMV_LOWEST : top, 0.0f};
#pragma unroll
    for (int i = 0; i < N; i++) p.sum += exp2f((v[i] - p.shift) * after);
    return p;
}

/* A warp has sums of neighbouring outputs of one row, from `first` on: v[i] is of first + lane + 32 i, where that is
 * less than `count` further on and an output. */
template <int N, typename T>
__device__ inline void gemv_finish(const gemv_args<T> &a, int head, int row, int tile, int first, int count,
                                   float (&v)[N]) {
    const gemv_logits &to = a.to;
    const int lane = (int)threadIdx.x % 32;
    const int64_t line = (int64_t)head * a.batch + row;
    float *const z = to.z ? to.z + line * to.line + (to.bias ? 0 : blockIdx.y * to.next) : NULL;
    const int label = to.bias && to.labels.base ? to.labels[row] : -1;
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int column = first + lane + 32 * i;
        const bool inside = lane + 32 * i < count && column >= 0 && column < a.outputs;
        if (to.bias) v[i] = inside ? (v[i] + a.bias_at(head, column)) * to.before : -INFINITY;
        if (inside && z) z[column] = v[i];
        if (inside && column == label) to.label_logit[row] = v[i];
        all += inside ? v[i] : 0.0f;
    }
    if (!to.parts) return;
    const softmax_part p = gemv_warp_part(gemv_part(v, to.after), to.after);
    if (to.sums) all = lanes_sum<32>(all);
    if (lane > 0) return;
    to.parts[line * to.count + tile] = p;
    if (to.sums) to.sums[line * to.count + tile] = all;
}

}  // namespace ridge

#endif
