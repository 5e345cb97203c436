/* Losses and gradients of rows of logits in memory: a block a row. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_OF_LOGITS_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_OF_LOGITS_CUH

#include "cuda/linear/loss_passes.cuh"

namespace ridge {

template <typename G>
struct unfused_rows {
    const float *logits; /* sums in `shares` parts, `next` elements from one to the next */
    G *gradient;         /* NULL: losses only */
    int64_t stride;
    const float *bias, *dloss, *given_lse;
    label_view labels;
    float *loss, *lse;
    int classes;
    loss_options options;
    int shares = 1;
    int64_t next = 0;
    row_gradient *row = NULL;     /* NULL, or gradients' rows: written, or read where they are known */
    gradient_range *range = NULL; /* with `row`: what they are noted in */
    bool known = false;

    __device__ float at(const float *z, int column) const {
        float sum = z[column];
        for (int s = 1; s < shares; s++) sum += z[s * next + column];
        return sum;
    }
};

__device__ inline softmax_part block_part(softmax_part mine, float *sum) {
    __shared__ softmax_part part[32];
    __shared__ float sums[32];
    for (int mask = 16; mask > 0; mask /= 2) {
        const softmax_part other = {__shfl_xor_sync(0xffffffffu, mine.shift, mask),
                                    __shfl_xor_sync(0xffffffffu, mine.sum, mask)};
        mine = merge_parts(mine, other);
        *sum += __shfl_xor_sync(0xffffffffu, *sum, mask);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine, sums[threadIdx.x / 32] = *sum;
    __syncthreads();
    mine = part[0], *sum = sums[0];
    for (int w = 1; w < (int)blockDim.x / 32; w++) mine = merge_parts(mine, part[w]), *sum += sums[w];
    return mine;
}

/* Threads of a block that has a row of so many classes: whole warps. */
inline int losses_threads(int64_t classes) {
    return classes >= 512 ? 512 : classes <= 32 ? 32 : (int)(classes + 31) / 32 * 32;
}

/* A block a row: its sum, its loss, its gradient. */
template <typename G>
__global__ void __launch_bounds__(512) losses_of_logits(const unfused_rows<G> u) {
    after_previous_launch();
    const float *z = u.logits + blockIdx.x * u.stride;
    const int row = (int)blockIdx.x, label = u.labels[row];
    float log_sum;
    if (u.known) {
        log_sum = u.row[row].log_sum;
    } else if (u.given_lse) {
        log_sum = u.given_lse[row] * log2_e;
    } else {
        softmax_part part = {-0x1p100f, 0.0f};
        float all = 0.0f;
        for (int j = (int)threadIdx.x; j < u.classes; j += (int)blockDim.x) {
            const float v = (u.at(z, j) + u.bias[j]) * log2_e;
            all += v;
            if (v > part.shift) part = {ceilf(v), part.sum * exp2f(part.shift - ceilf(v))};
            part.sum += exp2f(v - part.shift);
        }
        part = block_part(part, &all);
        log_sum = part.sum > 0.0f ? part.shift + log2f(part.sum) : NAN;
        if (threadIdx.x == 0) {
            const float lse = log_sum * ln_2, s = u.options.smoothing;
            float loss = 0.0f;
            if (loss_counts(label, u.classes, u.options.ignore_index)) {
                loss = (1.0f - s) * (lse - (u.at(z, label) + u.bias[label]));
                if (s != 0.0f) loss += s * (lse - all * ln_2 / (float)u.classes);
                if (u.options.z_loss != 0.0f) loss += u.options.z_loss * lse * lse;
            }
            if (u.loss) u.loss[row] = loss;
            if (u.lse) u.lse[row] = lse;
        }
    }
    if (!u.gradient && !u.row) return;
    const row_gradient r = u.known ? u.row[row] : gradient_of_row(log_sum, u.dloss[row], label, u.classes, u.options);
    if (u.row && !u.known && threadIdx.x < 32) {
        if (threadIdx.x == 0) u.row[row] = r;
        widen_range(u.range, gradient_bound(r));
    }
    if (!u.gradient) return;
    for (int j = (int)threadIdx.x; j < u.classes; j += (int)blockDim.x) {
        float g = 0.0f;
        if (r.label >= 0) g = fmaf(r.coef, exp2f((u.at(z, j) + u.bias[j]) * log2_e - r.log_sum), -r.off);
        if (j == r.label) g -= r.hit;
        u.gradient[blockIdx.x * u.stride + j] = from_float<G>(g);
    }
}

}  // namespace ridge

#endif
