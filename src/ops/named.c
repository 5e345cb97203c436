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
