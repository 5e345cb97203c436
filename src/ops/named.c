/* The operations by name: each puts its tensors in the order of its target. */
#include "ridge/ops.h"

ridge_status ridge_l2norm(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error) {
    return ridge_apply(context, "fused_l2norm", NULL, x, 1, y, 1, NULL, error);
}

ridge_status ridge_softmax(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error) {
    return ridge_apply(context, "online_softmax", NULL, x, 1, y, 1, NULL, error);
}

ridge_status ridge_layer_norm_gelu(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                   const DLTensor *beta, const DLTensor *y, ridge_error *error) {
    const DLTensor in[] = {*x, *gamma, *beta};
    return ridge_apply(context, "norm_activation", NULL, in, 3, y, 1, NULL, error);
}

ridge_status ridge_rms_norm_silu(ridge_context *context, const DLTensor *x, const DLTensor *gamma, const DLTensor *y,
                                 ridge_error *error) {
    const DLTensor in[] = {*x, *gamma};
    return ridge_apply(context, "norm_activation_rms", NULL, in, 2, y, 1, NULL, error);
}

ridge_status ridge_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w, const DLTensor *b,
                                  const DLTensor *probs, ridge_error *error) {
    const DLTensor in[] = {*x, *w, *b};
    return ridge_apply(context, "linear_softmax", NULL, in, 3, probs, 1, NULL, error);
}

/* In the order of the targets' options. */
typedef struct option_values {
    double value[RIDGE_MAX_OPTIONS];
} option_values;

static option_values values_of(const ridge_cross_entropy_options *options) {
    static const ridge_cross_entropy_options defaults = RIDGE_CROSS_ENTROPY_DEFAULTS;
    const ridge_cross_entropy_options *o = options ? options : &defaults;
    return (option_values){{o->ignore_index, o->label_smoothing, o->z_loss}};
}

ridge_status ridge_linear_cross_entropy(ridge_context *context, const DLTensor *x, const DLTensor *w, const DLTensor *b,
                                        const DLTensor *labels, const ridge_cross_entropy_options *options,
                                        const DLTensor *loss, const DLTensor *lse, ridge_error *error) {
    const DLTensor in[] = {*x, *w, *b, *labels}, out[] = {*loss, *lse};
    const option_values told = values_of(options);
    return ridge_apply(context, "linear_cross_entropy", NULL, in, 4, out, 2, told.value, error);
}

ridge_status ridge_linear_cross_entropy_backward(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                 const DLTensor *b, const DLTensor *labels, const DLTensor *lse,
                                                 const DLTensor *dloss, const ridge_cross_entropy_options *options,
                                                 const DLTensor *dx, const DLTensor *dw, const DLTensor *db,
                                                 ridge_error *error) {
    const DLTensor in[] = {*x, *w, *b, *labels, *lse, *dloss}, out[] = {*dx, *dw, *db};
    const option_values told = values_of(options);
    return ridge_apply(context, "linear_cross_entropy_backward", NULL, in, 6, out, 3, told.value, error);
}

ridge_status ridge_linear_cross_entropy_grad(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                             const DLTensor *b, const DLTensor *labels, const DLTensor *dloss,
                                             const ridge_cross_entropy_options *options, const DLTensor *loss,
                                             const DLTensor *lse, const DLTensor *dx, const DLTensor *dw,
                                             const DLTensor *db, ridge_error *error) {
    const DLTensor in[] = {*x, *w, *b, *labels, *dloss}, out[] = {*loss, *lse, *dx, *dw, *db};
    const option_values told = values_of(options);
    return ridge_apply(context, "linear_cross_entropy_grad", NULL, in, 5, out, 5, told.value, error);
}

ridge_status ridge_multihead_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                            const DLTensor *b, const DLTensor *probs, ridge_error *error) {
    const DLTensor in[] = {*x, *w, *b};
    return ridge_apply(context, "multihead_linear_softmax", NULL, in, 3, probs, 1, NULL, error);
}
