/* Runs the single-head kernels for one head after the other; x stays in cache between heads if it fits. */
#include "cpu/linear_softmax.h"
#include "multihead_linear_softmax.h"

static ridge_status each_head(const ridge_call *call, ridge_run_fn single) {
    const DLTensor *x = &call->in[HEADS_X], *w = &call->in[HEADS_W], *b = &call->in[HEADS_B], *p = &call->out[0];
    const int64_t batch = call->dim[HEADS_BATCH], depth = call->dim[HEADS_DEPTH], classes = call->dim[HEADS_CLASSES];
    const int64_t dim[RIDGE_MAX_RANK] = {batch, depth, classes};
    int64_t w_shape[] = {depth, classes}, w_strides[] = {heads_stride(w, 1), 1};
    int64_t p_shape[] = {batch, classes}, p_strides[] = {heads_stride(p, 0), 1};
    for (int64_t h = 0; h < call->dim[HEADS_HEADS]; h++) {
        DLTensor in[] = {*x, *w, *b}, out = *p;
        in[LINEAR_W].data = (float *)ridge_data(w) + h * heads_stride(w, 0);
        in[LINEAR_W].ndim = 2, in[LINEAR_W].shape = w_shape, in[LINEAR_W].strides = w_strides;
        in[LINEAR_B].data = (float *)ridge_data(b) + h * heads_stride(b, 0);
        in[LINEAR_B].ndim = 1, in[LINEAR_B].shape = &w_shape[1], in[LINEAR_B].strides = NULL;
        out.data = (float *)ridge_data(p) + h * heads_stride(p, 1);
        out.ndim = 2, out.shape = p_shape, out.strides = p_strides;
        in[LINEAR_W].byte_offset = in[LINEAR_B].byte_offset = out.byte_offset = 0;
        ridge_call one = *call;
        one.dim = dim, one.in = in, one.out = &out;
        RIDGE_TRY(single(&one));
    }
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(multihead_linear_softmax_cpu_baseline)(const ridge_call *call) {
    return each_head(call, RIDGE_ISA_FN(linear_softmax_cpu_baseline));
}

ridge_status RIDGE_ISA_FN(multihead_linear_softmax_cpu_optimized)(const ridge_call *call) {
    static const ridge_run_fn single[] = {[LINEAR_WAY_WIDE] = RIDGE_ISA_FN(linear_softmax_cpu_wide),
                                          [LINEAR_WAY_FUSED] = RIDGE_ISA_FN(linear_softmax_cpu_fused),
                                          [LINEAR_WAY_PRODUCT] = RIDGE_ISA_FN(linear_softmax_cpu_product)};
    return each_head(call, single[call->way->number]);
}
