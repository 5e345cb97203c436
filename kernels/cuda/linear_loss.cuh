/* Between the products of a softmax cross-entropy: parts to losses, losses' gradients to rows', sums of columns. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_CUH

#include <type_traits>

#include "cuda/overlap.cuh"

extern "C" {
#include "cuda/linear_loss.h"
}

namespace ridge {

constexpr float log2_e = 0x1.715476p+0f, ln_2 = 0x1.62e43p-1f;

/* rows x columns; element (i, j) is at i line + j step, and one of both is 1. */
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

/* The rows' labels, of 32 or of 64 bits; read as 32. */
struct label_view {
    const void *base;
    bool wide;

    label_view operator+(int64_t rows) const { return {(const char *)base + rows * (wide ? 8 : 4), wide}; }
    /* -1, no class, for what 32 bits cannot hold: classes count to less. */
    __device__ int operator[](int64_t row) const {
        if (!wide) return ((const int *)base)[row];
        const long long label = ((const long long *)base)[row];
        return label == (int)label ? (int)label : -1;
    }
};

struct loss_options {
    double ignore_index;
    float smoothing, z_loss;
};
__device__ inline bool loss_counts(int label, int classes, double ignore_index) {
    return label >= 0 && label < classes && (double)label != ignore_index;
}

__device__ inline softmax_part merge_parts(softmax_part a, softmax_part b) {
    const float shift = fmaxf(a.shift, b.shift);
    return {shift, a.sum * exp2f(a.shift - shift) + b.sum * exp2f(b.shift - shift)};
}

/* ---- from parts to losses: 8 threads a row ---- */

struct loss_rows {
    const softmax_part *parts; /* [count][rows] */
    const float *logit_sums;   /* the same; NULL without smoothing */
    const float *label_logit;
    label_view labels;
    const float *dloss;     /* NULL, or: */
    row_gradient *gradient; /* what comes of it */
    float *loss, *lse;      /* either may be NULL */
    int rows, classes, count;
    const unsigned *infinite; /* NULL, or where it says so the count is: */
    int exact_count;
    loss_options options;
};

__device__ inline row_gradient gradient_of_row(float log_sum, float dloss, int label, int classes,
                                               const loss_options &o) {
    if (!loss_counts(label, classes, o.ignore_index)) return {log_sum, 0.0f, 0.0f, 0.0f, -1};
    return {log_sum, dloss * (1.0f + 2.0f * o.z_loss * log_sum * ln_2), dloss * o.smoothing / (float)classes,
            dloss * (1.0f - o.smoothing), label};
}

/* No sum: there is no largest logit that is finite. */
__device__ inline float log_of_part(softmax_part p) { return p.sum > 0.0f ? p.shift + log2f(p.sum) : NAN; }

/* lse and loss of a row whose logits' sum and whose label's logit are these, in units of log 2. */
__device__ inline void finish_loss(const loss_rows &r, int row, int label, float log_sum, float logits,
                                   float label_logit) {
    const float lse = log_sum * ln_2, s = r.options.smoothing;
    if (r.lse) r.lse[row] = lse;
    if (!r.loss) return;
    float loss = 0.0f;
    if (loss_counts(label, r.classes, r.options.ignore_index)) {
        loss = (1.0f - s) * (lse - label_logit * ln_2);
        if (s != 0.0f) loss += s * (lse - logits * ln_2 / (float)r.classes);
        if (r.options.z_loss != 0.0f) loss += r.options.z_loss * lse * lse;
    }
    r.loss[row] = loss;
}

__global__ static void __launch_bounds__(256) finish_losses(const loss_rows r) {
    after_previous_launch();
    const int row = (int)blockIdx.x * 32 + (int)threadIdx.x % 32, slice = (int)threadIdx.x / 32;
    __shared__ softmax_part part[8][32];
    __shared__ float sums[8][32];
    softmax_part all = {-INFINITY, 0.0f};
    float logits = 0.0f;
    const int count = r.infinite && *r.infinite ? r.exact_count : r.count;
    if (row < r.rows) {
        for (int i = slice; i < count; i += 8) {
            const softmax_part p = r.parts[(int64_t)i * r.rows + row];
            all = i == slice ? p : merge_parts(all, p);
            if (r.logit_sums) logits += r.logit_sums[(int64_t)i * r.rows + row];
        }
    }
    part[slice][threadIdx.x % 32] = all;
    sums[slice][threadIdx.x % 32] = logits;
    __syncthreads();
    if (slice > 0 || row >= r.rows) return;
    for (int i = 1; i < 8 && i < count; i++) {
        all = merge_parts(all, part[i][threadIdx.x]);
        logits += sums[i][threadIdx.x];
    }
    const float log_sum = log_of_part(all);
    const int label = r.labels[row];
    const float label_logit = loss_counts(label, r.classes, r.options.ignore_index) ? r.label_logit[row] : 0.0f;
    finish_loss(r, row, label, log_sum, logits, label_logit);
    if (r.gradient) r.gradient[row] = gradient_of_row(log_sum, r.dloss[row], label, r.classes, r.options);
}

/* The same where lse is known. */
__global__ static void __launch_bounds__(256)
    prepare_rows(const float *lse, const float *dloss, label_view labels, row_gradient *gradient, int rows, int classes,
                 loss_options options) {
    after_previous_launch();
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row < rows) gradient[row] = gradient_of_row(lse[row] * log2_e, dloss[row], labels[row], classes, options);
}

/* ---- a pass over a chunk of gradients: sums of columns, linear_sum_rows a block ---- */

/* Exponentials that become gradients of type G are kept in as many bytes: fp16 in 16 bits, the largest of a tile near
 * the end of its range. So its 11 bits are lost in the rounding of what becomes of them, and it has them down to 2^-29
 * of that largest; bf16 would round twice what is then subtracted from 1. */
template <typename G>
using kept_type = std::conditional_t<sizeof(G) == 2, __half, float>;
template <typename K>
constexpr int kept_scale = sizeof(K) == 2 ? 15 : 0;

/* Finish: what lies there is still 2^(z - shift), with a shift for every row and tile of `tile` columns. */
struct gradient_pass {
    void *gradient;
    int64_t stride;
    int rows, classes, rows_each, tile; /* rows_each: of a block */
    const unsigned *infinite;           /* NULL, or where it says so tiles are: */
    int exact_tile;
    const row_gradient *row; /* of the chunk */
    const float *shifts;     /* [tiles][rows] */
    float *sums;             /* [blocks][classes] */
};

template <typename G, bool Finish>
__global__ static void __launch_bounds__(256) pass_over_gradient(const gradient_pass p) {
    constexpr int W = pack_width<G>;
    after_previous_launch();
    const int first_column = ((int)blockIdx.x * 32 + (int)threadIdx.x % 32) * W, lane = (int)threadIdx.x / 32;
    const int begin = (int)blockIdx.y * p.rows_each, end = min(begin + p.rows_each, p.rows);
    const int tile = p.infinite && *p.infinite ? p.exact_tile : p.tile;
    __shared__ float shared[8][32 * W];
    float sum[W] = {};
    if (first_column < p.classes) {
        for (int i = begin + lane; i < end; i += 8) {
            union {
                uint4 bits;
                pack<G, W> elements;
                pack<kept_type<G>, W> kept; /* Finish */
            } u;
            uint4 *at = (uint4 *)((G *)p.gradient + i * p.stride + first_column);
            u.bits = *at;
            if (Finish) {
                const row_gradient r = p.row[i];
                const float factor = r.coef * exp2f(p.shifts[(int64_t)(first_column / tile) * p.rows + i] - r.log_sum);
#pragma unroll
                for (int e = 0; e < W; e++) {
                    float g = r.label < 0 ? 0.0f : fmaf(to_float(u.kept.v[e]), factor, -r.off);
                    if (first_column + e == r.label) g -= r.hit;
                    u.elements.v[e] = from_float<G>(g);
                    sum[e] += g;
                }
                *at = u.bits;
            } else {
#pragma unroll
                for (int e = 0; e < W; e++) sum[e] += to_float(u.elements.v[e]);
            }
        }
    }
#pragma unroll
    for (int e = 0; e < W; e++) shared[lane][threadIdx.x % 32 * W + e] = sum[e];
    __syncthreads();
    for (int c = (int)threadIdx.x; c < 32 * W; c += 256) {
        const int column = (int)blockIdx.x * 32 * W + c;
        float all = 0.0f;
        for (int i = 0; i < 8; i++) all += shared[i][c];
        if (column < p.classes) p.sums[(int64_t)blockIdx.y * p.classes + column] = all;
    }
}

__global__ static void __launch_bounds__(256)
    add_columns(const float *sums, int blocks, int classes, float *db, bool add) {
    after_previous_launch();
    const int c = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (c >= classes) return;
    float all = add ? db[c] : 0.0f;
#pragma unroll 8
    for (int i = 0; i < blocks; i++) all += sums[(int64_t)i * classes + c];
    db[c] = all;
}

/* Gradients of the chunk whose rows `p` names are final afterwards, and db has their sums. */
template <typename G>
ridge_status finish_gradient(gradient_pass p, bool exponentials, float *db, bool add, cudaStream_t stream) {
    p.rows_each = (int)linear_sum_rows(p.rows);
    const dim3 grid((unsigned)((p.classes + 32 * pack_width<G> - 1) / (32 * pack_width<G>)),
                    (unsigned)linear_sum_blocks(p.rows));
    const auto pass = exponentials ? pass_over_gradient<G, true> : pass_over_gradient<G, false>;
    RIDGE_TRY(launch_overlapping(pass, {grid, 256}, stream, device_overlaps(), p));
    return launch_overlapping(add_columns, {dim3((unsigned)((p.classes + 255) / 256)), 256}, stream, device_overlaps(),
                              p.sums, (int)grid.y, p.classes, db, add);
}

}  // namespace ridge

#endif
