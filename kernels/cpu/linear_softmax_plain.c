/* softmax(x w + b), the baseline: a triple loop in the order that the compiler vectorizes, logits in memory, then a
 * softmax pass over them. */
#include <string.h>

#include "cpu/linear_softmax.h"
#include "cpu/softmax_row.h"

static void logits_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t depth = call->dim[LINEAR_DEPTH], classes = call->dim[LINEAR_CLASSES];
    const linear_order order = linear_order_of(&call->in[LINEAR_W]);
    const int64_t sx = ridge_row_stride(&call->in[LINEAR_X]), sw = order.stride;
    const float *x = ridge_data(&call->in[LINEAR_X]), *w = ridge_data(&call->in[LINEAR_W]);
    const float *b = ridge_data(&call->in[LINEAR_B]);
    float *logits = call->scratch;
    int64_t begin, end;
    ridge_share(call->dim[LINEAR_BATCH], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *restrict row = logits + i * classes;
        memcpy(row, b, (size_t)classes * sizeof *row);
        for (int64_t j = 0; j < classes && order.columns; j++)
            for (int64_t d = 0; d < depth; d++) row[j] += x[i * sx + d] * w[j * sw + d];
        for (int64_t d = 0; d < depth && !order.columns; d++) {
            const float s = x[i * sx + d];
            const float *restrict from = w + d * sw;
            for (int64_t j = 0; j < classes; j++) row[j] += s * from[j];
        }
    }
}

static void softmax_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t classes = call->dim[LINEAR_CLASSES], stride = ridge_row_stride(&call->out[0]);
    const float *logits = call->scratch;
    float *y = ridge_data(&call->out[0]);
    int64_t begin, end;
    ridge_share(call->dim[LINEAR_BATCH], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) softmax_row(logits + i * classes, NULL, classes, y + i * stride);
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, logits_fn, (void *)(uintptr_t)call);
    ridge_team_run(call->team, softmax_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}
