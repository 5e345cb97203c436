/* Softmax by oneDNN. */
#include "online_softmax.h"
#include "peer/onednn.h"

/* oneDNN 2.6 exceeds this target's error bound in some cases. */
const char *online_softmax_onednn_unavailable(const ridge_case *c) {
    if (c && c->dtype != RIDGE_F32) return "oneDNN's softmax rounds more than once to bf16: beyond the error bound";
    if (c && c->edge) return "oneDNN's softmax makes a row of -inf 0, not NaN";
    if (c && c->dim[1] > 4096) return "oneDNN's softmax sums long rows beyond the error bound";
    return onednn_primitive_unavailable(c);
}

ridge_status online_softmax_prepare_onednn(const ridge_case *c, int threads, void **plan) {
    onednn_plan *made;
    ridge_status status = onednn_plan_create(ONEDNN_SOFTMAX, c->dim[0], c->dim[1], c->dtype, 0.0, threads, &made);
    *plan = made;
    return status;
}

ridge_status online_softmax_onednn(const ridge_call *call) {
    return onednn_plan_run(call->plan, &call->in[0], &call->out[0], NULL, NULL);
}
