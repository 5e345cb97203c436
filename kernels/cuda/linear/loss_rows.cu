/* Softmax cross-entropy of a linear layer of up to 128 classes in fp32 on Hopper: the kernels of skinny/run.cuh make
 * losses and gradients of whole rows of logits where linear_softmax makes probabilities. */
#include "cuda/gemm/matmul_run.cuh"
#include "cuda/linear/loss_call.cuh"
#include "cuda/skinny/run.cuh"

namespace ridge {

/* See linear_rows. Not in the namespace below: devices without TMA compile none of it. */
struct linear_losses {
    loss_rows of;
    const float *given_lse; /* NULL, or of rows whose losses are not asked for */
    float *gradient;        /* NULL: losses only */
    int64_t stride;         /* of it: whole packs */

    struct known {
        int label;
        float dloss, lse;
    };
    __device__ known ahead(const linear_args &a, int64_t row) const {
        if (row >= a.batch) return {-1, 0.0f, 0.0f};
        return {of.labels[row], gradient ? of.dloss[row] : 0.0f, given_lse ? given_lse[row] : 0.0f};
    }
    template <int Lanes>
    __device__ void finish(const linear_args &a, float (&z)[4], known k, int64_t row, int column, bool present) const {
        float logits = 0.0f, at_label = 0.0f, top = -INFINITY;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const bool inside = column + e < a.classes;
            z[e] = inside ? z[e] * log2_e : -INFINITY;
            logits += inside ? z[e] : 0.0f;
            at_label += column + e == k.label && inside ? z[e] : 0.0f;
            top = fmaxf(top, z[e]);
        }
        float log_sum = k.lse * log2_e;
        if (!given_lse) {
            top = ceilf(lanes_max<Lanes>(top));
            const float shift = top == -INFINITY ? 0.0f : top;
            float sum = 0.0f;
#pragma unroll
            for (int e = 0; e < 4; e++) sum += exp2f(z[e] - shift);
            log_sum = log_of_part({shift, lanes_sum<Lanes>(sum)});
            if (of.options.smoothing != 0.0f) logits = lanes_sum<Lanes>(logits);
            at_label = lanes_sum<Lanes>(at_label);
            if (present && column == 0) finish_loss(of, (int)row, k.label, log_sum, logits, at_label);
        }
        if (!gradient || !present) return;
        const row_gradient r = gradient_of_row(log_sum, k.dloss, k.label, (int)a.classes, of.options);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            z[e] = r.label < 0 ? 0.0f : fmaf(r.coef, exp2f(z[e] - r.log_sum), -r.off);
            if (column + e == r.label) z[e] -= r.hit;
        }
        linear_write(gradient + row * stride + column, z, (int)a.classes - column, 4);
    }
};

namespace {

linear_args args_of(const linear_loss_call &c, int64_t first, int64_t rows) {
    const matrix_view x = some_rows<float>(c.x, first, rows);
    linear_args a = {};
    a.x = (const float *)x.base, a.w = (const float *)c.w.base, a.b = c.bias;
    a.batch = rows, a.depth = x.columns, a.classes = c.w.rows;
    a.x_row = x.line, a.w_depth = c.w.step, a.w_class = c.w.line;
    return a;
}

}  // namespace

ridge_status linear_rows_losses(const linear_loss_call &c, int64_t first, int64_t rows, float *gradient) {
    const linear_args a = args_of(c, first, rows);
    const linear_losses op = {loss_rows_of(c, first, rows), c.given_lse ? c.given_lse + first : NULL, gradient,
                              c.at.gradient_stride};
    return linear_rows_by(c.way, a, op, 1, c.stream);
}

}  // namespace ridge
