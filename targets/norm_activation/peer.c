/* oneDNN's layer normalization, then its GELU in place: two primitives, which oneDNN cannot fuse. */
#include <stdlib.h>

#include "model/norm_eps.h"
#include "norm_activation.h"
#include "peer/onednn.h"

typedef struct plans {
    onednn_plan *norm, *gelu;
} plans;

/* oneDNN's scale and shift are always fp32. */
const char *norm_activation_onednn_unavailable(const ridge_case *c) {
    if (c && c->dtype != RIDGE_F32) return "oneDNN's layer normalization takes fp32 parameters";
    if (c && c->dim[1] > 65536) return "oneDNN's layer normalization sums long rows beyond the error bound";
    return onednn_primitive_unavailable(c);
}

void norm_activation_release_onednn(void *plan) {
    plans *p = plan;
    if (!p) return;
    onednn_plan_destroy(p->norm);
    onednn_plan_destroy(p->gelu);
    free(p);
}

ridge_status norm_activation_prepare_onednn(const ridge_case *c, int threads, void **plan) {
    *plan = NULL;
    plans *p = calloc(1, sizeof *p);
    if (!p) return RIDGE_NO_MEMORY;
    ridge_status status = onednn_plan_create(ONEDNN_LAYER_NORM_AFFINE, c->dim[0], c->dim[1], c->dtype, (double)NORM_EPS,
                                             threads, &p->norm);
    if (status == RIDGE_OK)
        status = onednn_plan_create(ONEDNN_GELU_ERF, c->dim[0], c->dim[1], c->dtype, 0.0, threads, &p->gelu);
    if (status == RIDGE_OK)
        *plan = p;
    else
        norm_activation_release_onednn(p);
    return status;
}

ridge_status norm_activation_onednn(const ridge_call *call) {
    const plans *p = call->plan;
    const DLTensor *y = &call->out[0];
    /* oneDNN's GELU treats padded rows as one long row and also processes the padding. */
    if (ridge_row_stride(y) != call->dim[1]) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(onednn_plan_run(p->norm, &call->in[0], y, ridge_data(&call->in[1]), ridge_data(&call->in[2])));
    return onednn_plan_run(p->gelu, y, y, NULL, NULL);
}
