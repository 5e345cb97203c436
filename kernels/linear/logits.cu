/* softmax(x w + b) by way of logits in memory: see logits.h. */
#include "cuda/linear/copies.cuh"
#include "linear/product.cuh"
#include "linear/softmax_rows.cuh"

extern "C" {
#include "linear/logits.h"
}

namespace ridge {

/* The product of one head, or of all that are packed. */
static ridge_status multiply(const ridge_call *call, const linear_logits_plan &l, void *w, float *z) {
    const gemm_matrices m = {ridge_data(&call->in[LINEAR_LOGITS_X]), w, z};
    return gemm_run(call, l.way, l.problem, m, (char *)call->scratch + l.product);
}

/* w of each head beside the one before: lines of all heads' classes. */
static ridge_status pack_weights(const ridge_call *call, const linear_logits_plan &l, const ridge_operand &w,
                                 void *to) {
    const matrix_lines of_step = {ridge_data(&call->in[LINEAR_LOGITS_W]), l.classes, l.heads, w.stride[0]};
    const linear_copy copy = {of_step, {to, l.head, l.heads, l.head}, (int)l.depth, w.stride[1]};
    return linear_copy_both((int)ridge_dtype_size(call->dtype), {}, copy, stream_of(call));
}

static logit_rows rows_of(const ridge_call *call, const linear_logits_plan &l, const ridge_problem &p, const float *z) {
    const ridge_operand &to = p.tensor[LINEAR_LOGITS_INPUTS];
    const bool heads = call->out[0].ndim == 3;
    logit_rows r = {};
    r.z = z, r.bias = ridge_data(&call->in[LINEAR_LOGITS_BIAS]), r.p = ridge_data(&call->out[0]);
    r.rows = l.rows, r.classes = l.classes, r.heads = (int)l.heads;
    r.z_line = l.line, r.z_head = l.head, r.p_line = to.stride[0], r.p_head = heads ? to.stride[1] : 0;
    r.bias_head = heads ? p.tensor[LINEAR_LOGITS_BIAS].stride[0] : 0;
    return r;
}

}  // namespace ridge

extern "C" ridge_status linear_logits_cuda(const ridge_call *call) {
    using namespace ridge;
    const ridge_problem p = problem_of(call, call->in[LINEAR_LOGITS_W].ndim + 1, LINEAR_LOGITS_INPUTS, 1);
    const linear_logits_plan l = linear_logits_of((const linear_softmax_dims *)call->way->own, &p);
    char *const scratch = (char *)call->scratch, *w = (char *)ridge_data(&call->in[LINEAR_LOGITS_W]);
    float *const z = (float *)(l.in_place ? ridge_data(&call->out[0]) : scratch + l.z);
    if (l.rows == 0 || l.heads == 0) return RIDGE_OK;
    if (!l.way) return RIDGE_UNSUPPORTED;
    if (l.packed) {
        RIDGE_TRY(pack_weights(call, l, p.tensor[LINEAR_LOGITS_W], scratch + l.w));
        RIDGE_TRY(multiply(call, l, scratch + l.w, z));
    } else {
        const int64_t next = p.tensor[LINEAR_LOGITS_W].stride[0] * (int64_t)ridge_dtype_size(call->dtype);
        for (int64_t h = 0; h < l.heads; h++) RIDGE_TRY(multiply(call, l, w + h * next, z + h * l.head));
    }
    return linear_softmax_rows_of(rows_of(call, l, p, z), call->dtype, stream_of(call));
}
