/* Around products of few rows: shares added, parts to probabilities or losses, logits to gradients. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_PASSES_CUH
#define RIDGE_KERNELS_CUDA_GEMV_PASSES_CUH

#include "cuda/gemv/args.cuh"

namespace ridge {

/* ---- logits from the sums of all shares, in the place of the first: a warp has 128 of a row ---- */

constexpr int GEMV_PART = GEMV_SUMMED / GEMV_WARPS;

template <typename T>
__global__ void __launch_bounds__(GEMV_THREADS)
    gemv_add_shares(const __grid_constant__ gemv_args<T> a, const float *sums, int shares) {
    after_previous_launch();
    const int tile = (int)blockIdx.x * GEMV_WARPS + (int)threadIdx.x / 32, first = tile * GEMV_PART;
    const int row = (int)blockIdx.y % a.batch, head = (int)blockIdx.y / a.batch;
    if (first >= a.outputs) return;
    const float *const z = sums + blockIdx.y * a.to.line + first + (int)threadIdx.x % 32;
    float v[GEMV_PART / 32] = {};
#pragma unroll 4
    for (int s = 0; s < shares; s++)
#pragma unroll
        for (int i = 0; i < GEMV_PART / 32; i++)
            v[i] += first + (int)threadIdx.x % 32 + 32 * i < a.outputs ? z[s * a.to.next + 32 * i] : 0.0f;
    gemv_finish(a, head, row, tile, first, GEMV_PART, v);
}

/* ---- a row's part from those of its tiles ---- */

struct gemv_row {
    softmax_part part;
    float sum; /* of logits */
};
/* By all threads of a block. sums: NULL, or of logits. */
__device__ inline gemv_row gemv_merge_row(const softmax_part *parts, const float *sums, int count, float after) {
    __shared__ softmax_part part[GEMV_WARPS];
    __shared__ float some[GEMV_WARPS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    softmax_part p = {GEMV_LOWEST, 0.0f};
    float all = 0.0f;
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < count; i += GEMV_THREADS) {
        p = gemv_merge(p, parts[i], after);
        if (sums) all += sums[i];
    }
    p = gemv_warp_part(p, after);
    all = lanes_sum<32>(all);
    if (lane == 0) part[warp] = p, some[warp] = all;
    __syncthreads();
    gemv_row row = {part[0], some[0]};
    for (int w = 1; w < GEMV_WARPS; w++) row.part = gemv_merge(row.part, part[w], after), row.sum += some[w];
    return row;
}

/* ---- probabilities ---- */

template <typename T>
struct gemv_probabilities {
    const float *z;
    const softmax_part *parts;
    int64_t line;
    int batch, classes, count;
    float after;
    T *p;
    int64_t p_line, p_head;
};
constexpr int GEMV_WRITTEN = 2048; /* of a row, by a block */

template <typename T>
__global__ void __launch_bounds__(GEMV_THREADS) gemv_write(const __grid_constant__ gemv_probabilities<T> a) {
    after_previous_launch();
    const int64_t row = blockIdx.y;
    const int first = (int)blockIdx.x * GEMV_WRITTEN + (int)threadIdx.x;
    float z[GEMV_WRITTEN / GEMV_THREADS];
#pragma unroll
    for (int i = 0; i < GEMV_WRITTEN / GEMV_THREADS; i++) {
        const int column = first + i * GEMV_THREADS;
        z[i] = column < a.classes ? a.z[row * a.line + column] : 0.0f;
    }
    const softmax_part all = gemv_merge_row(a.parts + row * a.count, NULL, a.count, a.after).part;
    const float scale = 1.0f / all.sum;
    T *const p = a.p + row % a.batch * a.p_line + row / a.batch * a.p_head;
#pragma unroll
    for (int i = 0; i < GEMV_WRITTEN / GEMV_THREADS; i++) {
        const int column = first + i * GEMV_THREADS;
        if (column < a.classes) p[column] = from_float<T>(exp2f((z[i] - all.shift) * a.after) * scale);
    }
}

/* ---- losses: a block a row. r.count parts ---- */

__global__ static void __launch_bounds__(GEMV_THREADS) gemv_losses(const __grid_constant__ loss_rows r) {
    after_previous_launch();
    const int row = (int)blockIdx.x;
    const int64_t at = (int64_t)row * r.count;
    const gemv_row all = gemv_merge_row(r.parts + at, r.logit_sums ? r.logit_sums + at : NULL, r.count, 1.0f);
    if (threadIdx.x > 0) return;
    const float log_sum = log_of_part(all.part);
    const int label = r.labels[row];
    const float label_logit = loss_counts(label, r.classes, r.options.ignore_index) ? r.label_logit[row] : 0.0f;
    finish_loss(r, row, label, log_sum, all.sum, label_logit);
    if (r.gradient) r.gradient[row] = gradient_of_row(log_sum, r.dloss[row], label, r.classes, r.options);
}

/* ---- gradients in the place of logits, and their sums over the rows: a thread has a class ---- */

__global__ static void __launch_bounds__(GEMV_THREADS)
    gemv_gradients(float *z, int64_t line, const row_gradient *rows, int batch, int classes, float *db) {
    after_previous_launch();
    const int column = (int)blockIdx.x * GEMV_THREADS + (int)threadIdx.x;
    if (column >= classes) return;
    float sum = 0.0f;
#pragma unroll 8
    for (int i = 0; i < batch; i++) {
        const row_gradient r = rows[i];
        float g = r.label < 0 ? 0.0f : fmaf(r.coef, exp2f(z[i * line + column] - r.log_sum), -r.off);
        if (column == r.label) g -= r.hit;
        z[i * line + column] = g;
        sum += g;
    }
    db[column] = sum;
}

/* ---- the sums of all shares to a matrix: a warp a row of the block, 32 columns ---- */

template <typename T>
struct gemv_shares {
    const float *sums;
    int64_t line, next;
    int shares, columns;
    T *to;
    int64_t to_line, to_step;
};
template <typename T>
__global__ void __launch_bounds__(GEMV_THREADS) gemv_store(const __grid_constant__ gemv_shares<T> a) {
    __shared__ float some[GEMV_WARPS][32];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, column = (int)blockIdx.x * 32 + lane;
    float sum = 0.0f;
    if (column < a.columns) {
        const float *const from = a.sums + blockIdx.y * a.line + column;
#pragma unroll 8
        for (int s = warp; s < a.shares; s += GEMV_WARPS) sum += from[s * a.next];
    }
    some[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || column >= a.columns) return;
    for (int w = 1; w < GEMV_WARPS; w++) sum += some[w][lane];
    a.to[blockIdx.y * a.to_line + column * a.to_step] = from_float<T>(sum);
}

}  // namespace ridge

#endif
