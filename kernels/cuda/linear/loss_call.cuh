/* A call of the cross-entropy family on a GPU, and what can be done with it. Of each storage type the operations are
 * compiled once for all targets, in linear/loss_<type>.cu: they have more kernels than all others together. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_CALL_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_CALL_CUH

#include "cuda/linear/copies.cuh"
#include "cuda/linear/loss_passes.cuh"

extern "C" {
#include "model/cross_entropy.h"
}

namespace ridge {

struct linear_loss_call {
    matrix_view x, w, dx, dw; /* x: [rows, depth], w: [classes, depth]; gradients alike */
    const float *bias;
    label_view labels;
    const float *dloss, *given_lse; /* backward; given_lse: NULL where it is computed */
    float *loss, *lse, *db;         /* loss, lse: NULL where not wanted */
    loss_options options;
    ridge_dtype dtype;
    char *scratch;
    int way; /* of linear/loss_ways.h */
    linear_loss_scratch at;
    cudaStream_t stream;

    int rows(void) const { return (int)x.rows; }
    int classes(void) const { return (int)w.rows; }
    template <typename V>
    V *part(size_t offset) const {
        return (V *)(scratch + offset);
    }
    /* Of gradients of f16 by tensor cores; NULL: they need none. */
    gradient_range *range(void) const {
        return dloss && dtype == RIDGE_F16 && way == LINEAR_LOSS_TILES ? part<gradient_range>(at.range) : NULL;
    }
    bool smooth(void) const { return options.smoothing != 0.0f; }
};

/* From a call of a target whose tensors are at these places. */
inline linear_loss_call linear_loss_call_of(const ridge_call *call, const ce_places &at) {
    const auto input = [&](int place) { return place >= 0 ? ridge_data(&call->in[place]) : NULL; };
    const auto output = [&](int place) { return place >= 0 ? ridge_data(&call->out[place]) : NULL; };
    linear_loss_call c = {};
    c.x = view_of(call->in[CE_X]);
    c.w = view_of(call->in[CE_W]);
    if (at.dx >= 0) c.dx = view_of(call->out[at.dx]);
    if (at.dw >= 0) c.dw = view_of(call->out[at.dw]);
    c.bias = (const float *)input(CE_B);
    c.labels = {input(CE_LABELS), call->in[CE_LABELS].dtype.bits == 64};
    c.dloss = (const float *)input(at.dloss);
    c.given_lse = (const float *)input(at.lse_in);
    c.loss = (float *)output(at.loss);
    c.lse = (float *)output(at.lse);
    c.db = (float *)output(at.db);
    c.options = {call->option[CE_IGNORE], (float)call->option[CE_SMOOTHING], (float)call->option[CE_Z_LOSS]};
    c.scratch = (char *)call->scratch;
    c.dtype = call->dtype;
    c.way = call->way ? call->way->number : LINEAR_LOSS_FFMA; /* without: of the plain variants */
    c.at = linear_loss_scratch_of(c.way, c.x.rows, c.x.columns, c.w.rows, call->dtype, at.dx >= 0);
    c.stream = stream_of(call);
    return c;
}

/* Losses of `rows` rows from `first` on. */
inline loss_rows loss_rows_of(const linear_loss_call &c, int64_t first, int64_t rows) {
    loss_rows r = {};
    r.parts = c.part<softmax_part>(c.at.parts);
    r.logit_sums = c.smooth() ? c.part<float>(c.at.logit_sums) : NULL;
    r.label_logit = c.part<float>(c.at.label_logit) + first;
    r.labels = c.labels + first;
    r.dloss = c.dloss ? c.dloss + first : NULL;
    r.gradient = c.dloss ? c.part<row_gradient>(c.at.rows) + first : NULL;
    r.loss = c.loss ? c.loss + first : NULL;
    r.lse = c.lse ? c.lse + first : NULL;
    r.rows = (int)rows;
    r.classes = c.classes();
    r.options = c.options;
    r.range = c.range();
    return r;
}

/* ---- fp32 of few classes on Hopper: linear/loss_rows.cu ---- */

/* By c.way. Of `rows` rows from `first` on: losses, and where `gradient` is not NULL the gradients of their logits
 * there, in lines of c.at.gradient_stride. c.given_lse: gradients alone. */
ridge_status linear_rows_losses(const linear_loss_call &c, int64_t first, int64_t rows, float *gradient);

/* ---- the operations: of storage type T ---- */

/* Losses, by c.way; linear/loss.cuh. */
template <typename T>
ridge_status linear_loss_forward(const linear_loss_call &c);
/* Gradients, likewise. given_lse: backward; else forward and backward; linear/loss.cuh. */
template <typename T>
ridge_status linear_loss_gradient(const linear_loss_call &c);
/* Any of these the plain way, with a library's products; linear/loss_unfused.cuh. */
template <typename T>
ridge_status linear_loss_library_unfused(const linear_loss_call &c, const ridge_call *call);

/* How a type is computed with. tf32 is, so far, as exact as fp32. */
template <typename F>
ridge_status with_products_of(ridge_dtype dtype, F f) {
    return with_storage(ridge_dtype_stored(dtype), f);
}

}  // namespace ridge

/* The variants of a target whose tensors are at these ce_places: by call->way, and the plain way with a
 * library's products. operation: linear_loss_forward or linear_loss_gradient. */
#define LINEAR_LOSS_CUDA(name, at, operation)                                                                         \
    static ridge::linear_loss_call name##_call_of(const ridge_call *call) {                                           \
        const ce_places places = at;                                                                                  \
        return ridge::linear_loss_call_of(call, places);                                                              \
    }                                                                                                                 \
    extern "C" ridge_status name##_cuda_optimized(const ridge_call *call) {                                           \
        const ridge::linear_loss_call c = name##_call_of(call);                                                       \
        return ridge::with_products_of(call->dtype, [&]<typename T>() { return ridge::operation<T>(c); });            \
    }                                                                                                                 \
    extern "C" ridge_status name##_cuda_baseline(const ridge_call *call) {                                            \
        const ridge::linear_loss_call c = name##_call_of(call);                                                       \
        return ridge::with_products_of(call->dtype,                                                                   \
                                       [&]<typename T>() { return ridge::linear_loss_library_unfused<T>(c, call); }); \
    }

#endif
