/* softmax(x w + b), unfused: logits in the output, then a pass over its rows. For shapes whose logits would not stay in
 * cache between a fused kernel's product and its softmax, and for few rows. */
#include "cpu/gemm_product.h"
#include "cpu/linear_softmax.h"
#include "cpu/softmax_row.h"

static void rows_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t stride = ridge_row_stride(&call->out[0]);
    const float *b = ridge_data(&call->in[LINEAR_B]);
    float *y = ridge_data(&call->out[0]);
    int64_t begin, end;
    ridge_share(call->dim[LINEAR_BATCH], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) softmax_row(y + i * stride, b, call->dim[LINEAR_CLASSES], y + i * stride);
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_product)(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *y = &call->out[0];
    const linear_order order = linear_order_of(w);
    const gemm_product p = {.m = call->dim[LINEAR_BATCH],
                            .n = call->dim[LINEAR_CLASSES],
                            .k = call->dim[LINEAR_DEPTH],
                            .a = ridge_data(x),
                            .a_row = ridge_row_stride(x),
                            .a_depth = 1,
                            .b = ridge_data(w),
                            .b_depth = order.columns ? 1 : order.stride,
                            .b_column = order.columns ? order.stride : 1,
                            .c = ridge_data(y),
                            .c_row = ridge_row_stride(y)};
    gemm_product_best(&p, call->scratch, call->team);
    ridge_team_run(p.m * p.n < LINEAR_PRODUCT_ALONE ? NULL : call->team, rows_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}
