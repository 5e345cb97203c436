/* Softmax cross-entropy of rows: labels, losses, and what turns logits into gradients. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_LOSS_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_LOSS_CUH

#include <type_traits>

#include "cuda/epilogue/bias.cuh"

namespace ridge {

/* The rows' labels, of 32 or of 64 bits; read as 32. */
struct label_view {
    const void *base;
    bool wide;

    label_view operator+(int64_t rows) const { return {(const char *)base + rows * (wide ? 8 : 4), wide}; }
    /* -1, no class, for a label that does not fit 32 bits. */
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

struct loss_rows {
    const softmax_part *parts; /* [count][rows] */
    const float *logit_sums;   /* the same; NULL without smoothing */
    const float *label_logit;
    label_view labels;
    const float *dloss;     /* NULL, or: */
    row_gradient *gradient; /* written from dloss */
    float *loss, *lse;      /* either may be NULL */
    int rows, classes, count;
    const unsigned *infinite; /* NULL, or where it says so the count is: */
    int exact_count;
    loss_options options;
    gradient_range *range; /* NULL, or f16: what the rows' gradients are noted in */
};

__device__ inline row_gradient gradient_of_row(float log_sum, float dloss, int label, int classes,
                                               const loss_options &o) {
    if (!loss_counts(label, classes, o.ignore_index)) return {log_sum, 0.0f, 0.0f, 0.0f, -1};
    return {log_sum, dloss * (1.0f + 2.0f * o.z_loss * log_sum * ln_2), dloss * o.smoothing / (float)classes,
            dloss * (1.0f - o.smoothing), label};
}

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

/* The type in which exponentials wait to become gradients of type G, of the same size: fp16 for 16 bits, with a tile's
 * largest exponential near the end of its range. fp16 has more bits than bf16, down to 2^-29 of the largest; kept in
 * bf16, gradients would be rounded twice. */
template <typename G>
using kept_type = std::conditional_t<sizeof(G) == 2, __half, float>;
template <typename K>
constexpr int kept_scale = sizeof(K) == 2 ? 15 : 0;

}  // namespace ridge

#endif
