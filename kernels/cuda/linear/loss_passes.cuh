/* Between the products of a softmax cross-entropy: parts to losses, losses' gradients to rows', sums of columns. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_PASSES_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_PASSES_CUH

#include <cfloat>

#include "cuda/epilogue/loss.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/reduce.cuh"

extern "C" {
#include "cuda/linear/loss_scratch.h"
}

namespace ridge {

/* ---- gradients of f16: their range ---- */

/* No gradient of the row is larger, if its lse is its own; 0 where it is not finite. */
__device__ inline float gradient_bound(const row_gradient &r) {
    const float bound = fabsf(r.coef) + fabsf(r.off) + fabsf(r.hit);
    return bound <= FLT_MAX ? bound : 0.0f;
}
/* By a whole warp, with its lanes' rows. */
__device__ inline void widen_range(gradient_range *range, float bound) {
    for (int mask = 16; mask > 0; mask /= 2) bound = fmaxf(bound, __shfl_xor_sync(0xffffffffu, bound, mask));
    if (threadIdx.x % 32 == 0 && bound > 0.0f) atomicMax(&range->most, __float_as_uint(bound));
}

/* Rows to the range that is known. least: of a row's scaled bound, below which its gradients would lose bits. */
__global__ static void __launch_bounds__(256)
    scale_rows(row_gradient *row, int rows, gradient_range *range, float least) {
    after_previous_launch();
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int up = min(14 + 127 - (int)(range->most >> 23), 115);
    if (i == 0) range->undo = __uint_as_float((unsigned)(127 - up) << 23);
    if (i >= rows) return;
    const float by = __uint_as_float((unsigned)(127 + up) << 23);
    row_gradient r = row[i];
    r.coef *= by, r.off *= by, r.hit *= by;
    row[i] = r;
    const float bound = gradient_bound(r);
    if (bound > 0.0f && bound < least) atomicOr(&range->exact, 1u);
}

/* A gradient's rounding is 2^-25 at most, a row's label alone weighs 2^-13 sqrt(classes) or more: with all classes
 * beside it, it loses less than rounding to f16 does. */
inline ridge_status rows_to_range(row_gradient *row, int rows, int classes, gradient_range *range,
                                  cudaStream_t stream) {
    return launch_overlapping(scale_rows, {dim3((unsigned)((rows + 255) / 256)), 256}, stream, device_overlaps(), row,
                              rows, range, 0x1p-13f * sqrtf((float)classes));
}

/* ---- from parts to losses: 8 threads a row ---- */

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
    if (slice > 0) return;
    row_gradient gradient = {0.0f, 0.0f, 0.0f, 0.0f, -1};
    if (row < r.rows) {
        for (int i = 1; i < 8 && i < count; i++) {
            all = merge_parts(all, part[i][threadIdx.x]);
            logits += sums[i][threadIdx.x];
        }
        const float log_sum = log_of_part(all);
        const int label = r.labels[row];
        const float label_logit = loss_counts(label, r.classes, r.options.ignore_index) ? r.label_logit[row] : 0.0f;
        finish_loss(r, row, label, log_sum, logits, label_logit);
        if (r.gradient)
            r.gradient[row] = gradient = gradient_of_row(log_sum, r.dloss[row], label, r.classes, r.options);
    }
    if (r.range) widen_range(r.range, gradient_bound(gradient));
}

/* The same where lse is known. */
__global__ static void __launch_bounds__(256)
    prepare_rows(const float *lse, const float *dloss, label_view labels, row_gradient *gradient, int rows, int classes,
                 loss_options options, gradient_range *range) {
    after_previous_launch();
    const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    row_gradient r = {0.0f, 0.0f, 0.0f, 0.0f, -1};
    if (row < rows) gradient[row] = r = gradient_of_row(lse[row] * log2_e, dloss[row], labels[row], classes, options);
    if (range) widen_range(range, gradient_bound(r));
}

/* ---- a pass over a chunk of gradients: sums of columns, linear_sum_rows a block ---- */

/* Finish: what lies there is still 2^(z - shift), with a shift for every row and tile of `tile` columns. */
struct gradient_pass {
    void *gradient;
    int64_t stride;
    int rows, classes, rows_each, tile; /* rows_each: of a block */
    const unsigned *infinite;           /* NULL, or where it says so tiles are: */
    int exact_tile;
    const unsigned *only_if; /* NULL, or what says whether there is anything to do */
    gradient_range *range;   /* NULL, or f16: where it is noted that one has left its range */
    const row_gradient *row; /* of the chunk */
    const float *shifts;     /* [tiles][rows] */
    float *sums;             /* [blocks][classes] */
};

template <typename G, bool Finish>
__global__ static void __launch_bounds__(256) pass_over_gradient(const gradient_pass p) {
    constexpr int W = pack_width<G>;
    after_previous_launch();
    if (p.only_if && *p.only_if == 0) return;
    const int first_column = ((int)blockIdx.x * 32 + (int)threadIdx.x % 32) * W, lane = (int)threadIdx.x / 32;
    const int begin = (int)blockIdx.y * p.rows_each, end = min(begin + p.rows_each, p.rows);
    const int tile = p.infinite && *p.infinite ? p.exact_tile : p.tile;
    __shared__ float shared[8][32 * W];
    float sum[W] = {};
    bool left = false; /* the range of f16 */
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
            if constexpr (std::is_same_v<G, __half>)
#pragma unroll
                for (int e = 0; e < W; e++)
                    left |= first_column + e < p.classes && fabsf(to_float(u.elements.v[e])) > 65504.0f;
        }
    }
    if (left && p.range) atomicOr(&p.range->exact, 1u);
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

/* A block has SUM_COLUMNS of them: many rows of few classes have a thousand sums a column. */
__global__ static void __launch_bounds__(256)
    add_columns(const float *sums, int blocks, int classes, float *db, bool add, const gradient_range *range) {
    __shared__ float room[256];
    after_previous_launch();
    const int first = (int)blockIdx.x * SUM_COLUMNS, c = first + (int)threadIdx.x % SUM_COLUMNS;
    const float undo = range ? range->undo : 1.0f;
    const float all = block_column_sum(sums, classes, blocks, classes, first, room);
    if (threadIdx.x < SUM_COLUMNS && c < classes) db[c] = add ? fmaf(all, undo, db[c]) : all * undo;
}

/* Gradients of the chunk whose rows `p` names are final afterwards, and p.sums has their sums. */
template <typename G>
ridge_status sum_gradient(gradient_pass p, bool exponentials, cudaStream_t stream) {
    p.rows_each = (int)linear_sum_rows(p.rows);
    const dim3 grid((unsigned)((p.classes + 32 * pack_width<G> - 1) / (32 * pack_width<G>)),
                    (unsigned)linear_sum_blocks(p.rows));
    const auto pass = exponentials ? pass_over_gradient<G, true> : pass_over_gradient<G, false>;
    return launch_overlapping(pass, {grid, 256}, stream, device_overlaps(), p);
}
/* Sums [blocks][classes] to db. range: NULL, or what undoes their scale. */
inline ridge_status add_column_sums(const float *sums, int blocks, int classes, float *db, bool add,
                                    const gradient_range *range, cudaStream_t stream) {
    const dim3 grid((unsigned)((classes + SUM_COLUMNS - 1) / SUM_COLUMNS));
    return launch_overlapping(add_columns, {grid, 256}, stream, device_overlaps(), sums, blocks, classes, db, add,
                              range);
}
inline ridge_status add_gradient_sums(const gradient_pass &p, float *db, bool add, const gradient_range *range,
                                      cudaStream_t stream) {
    return add_column_sums(p.sums, (int)linear_sum_blocks(p.rows), p.classes, db, add, range, stream);
}
template <typename G>
ridge_status finish_gradient(const gradient_pass &p, bool exponentials, float *db, bool add, cudaStream_t stream) {
    RIDGE_TRY(sum_gradient<G>(p, exponentials, stream));
    return add_gradient_sums(p, db, add, NULL, stream);
}

}  // namespace ridge

#endif
