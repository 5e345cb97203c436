/* Triton's kernel, which holds a row in the registers of a block. */
#include "triton.h"

#include "model/norm_eps.h"

static const char kernel[] = "l2norm_row";

const char *l2norm_triton_unavailable(const ridge_case *c) { return triton_holds(kernel, c, c->dim[1]); }

ridge_status l2norm_triton_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads, (void)plan;
    return triton_load((triton_want){kernel, c->dtype, c->dim[0], c->dim[1], false});
}

ridge_status l2norm_triton(const ridge_call *call) {
    const DLTensor *x = &call->in[0], *y = &call->out[0];
    void *from = ridge_data(x), *to = ridge_data(y);
    int64_t from_row = ridge_row_stride(x), to_row = ridge_row_stride(y);
    int32_t columns = (int32_t)call->dim[1];
    float eps = NORM_L2_EPS;
    void *arguments[] = {&from, &to, &from_row, &to_row, &columns, &eps};
    const bool aligned = triton_is_aligned(x) && triton_is_aligned(y) && columns % 16 == 0;
    const triton_kernel *k = triton_find((triton_want){kernel, call->dtype, call->dim[0], columns, aligned});
    return triton_launch(k, call->dim[0], arguments, 6, call->stream);
}
