/* softmax(x w + b) from a library's sgemm, which writes logits to the output, and a vectorized in-place softmax pass,
 * which adds the bias. oneDNN cannot fuse a softmax into a matrix product, so two calls are needed. */
#include "linear_softmax.h"
#include "peer/onednn.h"
#include "peer/openblas.h"
#include "cpu/softmax_row.h"

/* Below this many elements the softmax pass is faster on one thread than on two. */
enum { ALONE = 16384 };

static void softmax_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t stride = ridge_row_stride(&call->out[0]);
    const float *b = ridge_data(&call->in[LINEAR_B]);
    float *y = ridge_data(&call->out[0]);
    int64_t begin, end;
    ridge_share(call->dim[LINEAR_BATCH], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) softmax_row(y + i * stride, b, call->dim[LINEAR_CLASSES], y + i * stride);
}

static bool small(const ridge_call *call) { return call->dim[LINEAR_BATCH] * call->dim[LINEAR_CLASSES] < ALONE; }

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_onednn)(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *y = &call->out[0];
    const linear_order order = linear_order_of(w);
    RIDGE_TRY(onednn_product(false, order.columns, call->dim[LINEAR_BATCH], call->dim[LINEAR_CLASSES],
                             call->dim[LINEAR_DEPTH], ridge_data(x), ridge_row_stride(x), ridge_data(w), order.stride,
                             ridge_data(y), ridge_row_stride(y)));
    if (small(call))
        softmax_fn((void *)(uintptr_t)call, 0, 1);
    else
        onednn_parallel(softmax_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_openblas)(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *y = &call->out[0];
    const linear_order order = linear_order_of(w);
    RIDGE_TRY(openblas_product(false, order.columns, call->dim[LINEAR_BATCH], call->dim[LINEAR_CLASSES],
                               call->dim[LINEAR_DEPTH], ridge_data(x), ridge_row_stride(x), ridge_data(w), order.stride,
                               ridge_data(y), ridge_row_stride(y)));
    ridge_team_run(small(call) ? NULL : call->team, softmax_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}
