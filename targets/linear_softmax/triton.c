/* softmax(x w + b) by Triton: fused, all classes of a row in the registers of a program; and unfused, a product whose logits go
 * through memory in fp32. Both take w by rows, which is what their code was compiled for. */
#include "triton.h"

#include "gemm/triton.h"
#include "linear_softmax.h"

static const char fused[] = "linear_softmax_rows", softmax[] = "bias_softmax_row";
/* Logits are fp32 whatever the operands are. */
static const char *product(ridge_dtype dtype) { return ridge_dtype_size(dtype) == 4 ? "matmul_tile" : "logits_tile"; }
enum { FEWEST = 16 }; /* elements to which rows of logits are padded */

static const char *by_columns(const ridge_case *c) { return c->column_major ? "for w by rows" : NULL; }

static triton_want want(const char *name, ridge_dtype dtype, const int64_t *dim, bool aligned) {
    return (triton_want){name, dtype, dim[LINEAR_BATCH], dim[LINEAR_CLASSES], aligned};
}

const char *linear_softmax_triton_unavailable(const ridge_case *c) {
    const char *why = triton_holds(fused, c, c->dim[LINEAR_CLASSES]);
    return why ? why : by_columns(c);
}
const char *linear_softmax_triton_unfused_unavailable(const ridge_case *c) {
    const char *why = triton_holds(softmax, c, c->dim[LINEAR_CLASSES]);
    return why ? why : by_columns(c);
}

ridge_status linear_softmax_triton_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads, (void)plan;
    return triton_load(want(fused, c->dtype, c->dim, false));
}
ridge_status linear_softmax_triton_unfused_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads, (void)plan;
    RIDGE_TRY(triton_load(want(product(c->dtype), c->dtype, c->dim, false)));
    return triton_load(want(softmax, c->dtype, c->dim, false));
}

static int64_t logits_row(const int64_t *dim) { return (dim[LINEAR_CLASSES] + FEWEST - 1) / FEWEST * FEWEST; }

size_t linear_softmax_triton_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return sizeof(float) * (size_t)c->dim[LINEAR_BATCH] * (size_t)logits_row(c->dim);
}

static bool all_aligned(const ridge_call *call) {
    bool aligned = triton_is_aligned(&call->out[0]);
    for (int i = 0; i < 3; i++) aligned = aligned && triton_is_aligned(&call->in[i]);
    return aligned && (call->dim[LINEAR_BATCH] | call->dim[LINEAR_DEPTH] | call->dim[LINEAR_CLASSES]) % 16 == 0;
}

ridge_status linear_softmax_triton(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *b = &call->in[LINEAR_B], *p = &call->out[0];
    const triton_kernel *k = triton_find(want(fused, call->dtype, call->dim, all_aligned(call)));
    void *at[4] = {ridge_data(x), ridge_data(w), ridge_data(b), ridge_data(p)};
    int64_t row[3] = {ridge_row_stride(x), ridge_row_stride(w), ridge_row_stride(p)};
    int32_t m = (int32_t)call->dim[LINEAR_BATCH], depth = (int32_t)call->dim[LINEAR_DEPTH];
    int32_t n = (int32_t)call->dim[LINEAR_CLASSES];
    void *arguments[] = {&at[0], &at[1], &at[2], &at[3], &m, &n, &depth, &row[0], &row[1], &row[2]};
    return triton_launch(k, k ? triton_programs(k, m, n) : 0, arguments, 10, call->stream);
}

static ridge_status softmax_of(const ridge_call *call, void *logits, bool aligned) {
    void *b = ridge_data(&call->in[LINEAR_B]), *p = ridge_data(&call->out[0]);
    int64_t row = logits_row(call->dim), p_row = ridge_row_stride(&call->out[0]);
    int32_t n = (int32_t)call->dim[LINEAR_CLASSES];
    void *arguments[] = {&logits, &b, &p, &row, &p_row, &n};
    const triton_kernel *k = triton_find(want(softmax, call->dtype, call->dim, aligned));
    return triton_launch(k, call->dim[LINEAR_BATCH], arguments, 6, call->stream);
}

ridge_status linear_softmax_triton_unfused(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W];
    const bool aligned = all_aligned(call);
    const triton_matrix matrix[3] = {{ridge_data(x), ridge_row_stride(x)},
                                     {ridge_data(w), ridge_row_stride(w)},
                                     {call->scratch, logits_row(call->dim)}};
    const int64_t extent[3] = {call->dim[LINEAR_BATCH], call->dim[LINEAR_CLASSES], call->dim[LINEAR_DEPTH]};
    RIDGE_TRY(triton_product(product(call->dtype), call->dtype, matrix, extent, aligned, call->stream));
    return softmax_of(call, call->scratch, aligned);
}
