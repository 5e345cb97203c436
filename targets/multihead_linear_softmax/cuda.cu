/* H classifiers over one x on a GPU. Few tiles: the heads are one dimension of the grid of skinny/run.cuh's kernels,
 * each of whose blocks splits its operands for itself. As many tiles of 128 rows and a head as SMs: operands are split
 * once, and a tile of linear/softmax_tiles.cu is 128 rows of one head. */
#include "cuda/linear/softmax_call.cuh"
#include "linear/softmax_rows.cuh"

extern "C" {
#include "multihead_linear_softmax.h"
#include "peer/cublaslt.h"
}

using namespace ridge;

static linear_softmax_call call_of(const ridge_call *call) {
    const DLTensor *w = &call->in[HEADS_W], *b = &call->in[HEADS_B], *p = &call->out[0];
    const int64_t batch = call->dim[HEADS_BATCH], depth = call->dim[HEADS_DEPTH], classes = call->dim[HEADS_CLASSES];
    linear_softmax_call c = {};
    c.x = view_of(call->in[HEADS_X]);
    c.w = {ridge_data(w), classes, depth, 1, heads_stride(w, 1)};
    c.p = {ridge_data(p), batch, classes, heads_stride(p, 0), 1};
    c.bias = ridge_data(b);
    c.heads = (int)call->dim[HEADS_HEADS];
    c.w_head = heads_stride(w, 0), c.bias_head = heads_stride(b, 0), c.p_head = heads_stride(p, 1);
    c.dtype = call->dtype;
    c.scratch = (char *)call->scratch;
    c.stream = stream_of(call);
    return c;
}

extern "C" ridge_status multihead_linear_softmax_cuda_optimized(const ridge_call *call) {
    return linear_softmax_by(call->way->number, call_of(call));
}

/* A launch a head of what serves one. */
extern "C" ridge_status multihead_linear_softmax_cuda_launches(const ridge_call *call) {
    const linear_softmax_call c = call_of(call);
    for (int h = 0; h < c.heads; h++) RIDGE_TRY(linear_softmax_by(call->way->number, c.of_head(h)));
    return RIDGE_OK;
}

/* The library's products of all heads in one call, then bias and softmax in place. */
extern "C" ridge_status multihead_linear_softmax_cuda_baseline(const ridge_call *call) {
    const linear_softmax_call c = call_of(call);
    cublaslt_operands o = {};
    if (c.p.rows == 0 || c.heads == 0) return RIDGE_OK;
    o.x = c.x.base, o.w = c.w.base, o.z = c.p.base, o.b = c.heads == 1 ? c.bias : NULL;
    o.x_row = c.x.line, o.w_row = c.w.step, o.z_row = c.p.line, o.w_next = c.w_head, o.z_next = c.p_head;
    RIDGE_TRY(cublaslt_run((const cublaslt_plan *)call->plan, &o, call->scratch, call->stream));
    return linear_softmax_rows_of({(const float *)c.p.base, c.heads > 1 ? c.bias : NULL, c.p.base, c.p.rows,
                                   c.p.columns, c.heads, c.p.line, c.p_head, c.bias_head, c.p.line, c.p_head},
                                  c.dtype, c.stream);
}
