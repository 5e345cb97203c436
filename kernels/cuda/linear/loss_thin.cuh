/* Losses of few classes, and the gradients of their logits: skinny/thin.cuh, and what a warp makes of 16 rows of logits
 * in shared memory. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_THIN_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_THIN_CUH

#include "cuda/linear/loss_call.cuh"
#include "cuda/skinny/thin.cuh"

namespace ridge {

/* Two lanes have a row. */
template <typename G>
struct thin_losses {
    loss_rows r;
    const float *bias, *given_lse; /* given_lse: NULL where it is computed */
    G *gradient;                   /* NULL: losses alone; lines of `stride` */
    int64_t stride;

    /* To units of log 2. */
    __device__ void add_bias(float *z, int pitch) const {
        for (int j = (int)threadIdx.x % 32; j < r.classes; j += 32) {
            const float b = bias[j];
#pragma unroll
            for (int i = 0; i < 16; i++) z[i * pitch + j] = (z[i * pitch + j] + b) * log2_e;
        }
    }
    /* Of a row that exists, its loss besides. */
    __device__ float log_sum_of(const float *z, int row, int lane, int label, bool exists) const {
        float most = -0x1p100f, sum = 0.0f, all = 0.0f;
        for (int c = lane; c < r.classes; c += 2) most = z[c] > most ? z[c] : most;
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        for (int c = lane; c < r.classes; c += 2) sum += exp2f(z[c] - most), all += z[c];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1), all += __shfl_xor_sync(0xffffffffu, all, 1);
        const float log_sum = sum > 0.0f ? most + log2f(sum) : NAN;
        if (lane == 0 && exists)
            finish_loss(r, row, label, log_sum, all,
                        loss_counts(label, r.classes, r.options.ignore_index) ? z[label] : 0.0f);
        return log_sum;
    }
    __device__ void to_gradient(float *z, int lane, const row_gradient &g) const {
        for (int c = lane; c < r.classes; c += 2) {
            const float p = g.label < 0 ? 0.0f : fmaf(g.coef, exp2f(z[c] - g.log_sum), -g.off);
            z[c] = c == g.label ? p - g.hit : p;
        }
    }
    __device__ void rows(float *z, int pitch, int64_t first) const {
        const int lane = (int)threadIdx.x % 32, row = (int)first + lane / 2;
        const bool exists = row < r.rows;
        const int label = exists ? r.labels[row] : -1;
        float *const mine = z + lane / 2 * pitch;
        add_bias(z, pitch);
        __syncwarp();
        const float log_sum =
            given_lse ? (exists ? given_lse[row] : 0.0f) * log2_e : log_sum_of(mine, row, lane % 2, label, exists);
        if (!gradient) return;
        __syncwarp(); /* a label's logit is read by either lane */
        to_gradient(mine, lane % 2,
                    gradient_of_row(log_sum, exists ? r.dloss[row] : 0.0f, label, r.classes, r.options));
        __syncwarp();
        const int lanes = thin_lanes(r.classes);
        for (int i = lane / lanes; i < 16 && first + i < r.rows; i += 32 / lanes)
            thin_write(gradient + (first + i) * stride, z + i * pitch, r.classes, lane % lanes, lanes);
    }
};

/* Of `rows` rows from `first` on: losses, and where `gradient` is not NULL the gradients of their logits there. */
template <typename T, typename G>
ridge_status linear_thin_losses(const linear_loss_call &c, int64_t first, int64_t rows, G *gradient) {
    const thin_weights<T> w = {(const T *)c.w.base, 0, c.w.line, c.w.step, 1, c.classes(), (int)c.w.columns};
    thin_args<T> a = {};
    a.x = (const T *)c.x.base + first * c.x.line, a.line = c.x.line, a.rows = rows, a.depth = (int)c.x.columns;
    thin_losses<G> op = {};
    op.r = loss_rows_of(c, first, rows);
    op.bias = c.bias, op.given_lse = c.given_lse ? c.given_lse + first : NULL;
    op.gradient = gradient, op.stride = c.at.gradient_stride;
    return thin_run(w, a, c.scratch + c.at.thin, op, c.stream);
}

}  // namespace ridge

#endif
