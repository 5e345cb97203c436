/* softmax(x w + b) on a GPU: see README.md, and kernels/cuda/linear/softmax_ways.h for the kernels. */
#include "cuda/linear/softmax_call.cuh"
#include "linear/softmax_rows.cuh"

extern "C" {
#include "linear_softmax.h"
#include "peer/cublaslt.h"
}

using namespace ridge;

static linear_softmax_call call_of(const ridge_call *call) {
    linear_softmax_call c = {};
    c.x = view_of(call->in[LINEAR_X]);
    c.w = transposed(view_of(call->in[LINEAR_W]));
    c.p = view_of(call->out[0]);
    c.bias = ridge_data(&call->in[LINEAR_B]);
    c.heads = 1;
    c.dtype = call->dtype;
    c.scratch = (char *)call->scratch;
    c.stream = stream_of(call);
    return c;
}

extern "C" ridge_status linear_softmax_cuda_optimized(const ridge_call *call) {
    return linear_softmax_by(call->way->number, call_of(call));
}

/* The library's product and bias to p, softmax in place. */
extern "C" ridge_status linear_softmax_cuda_baseline(const ridge_call *call) {
    const linear_softmax_call c = call_of(call);
    cublaslt_operands o = {};
    o.x = c.x.base, o.w = c.w.base, o.b = c.bias, o.z = c.p.base;
    o.x_row = c.x.line, o.w_row = c.w.by_rows() ? c.w.line : c.w.step, o.z_row = c.p.line;
    RIDGE_TRY(cublaslt_run((const cublaslt_plan *)call->plan, &o, call->scratch, call->stream));
    return linear_softmax_rows_of(
        {(const float *)c.p.base, NULL, c.p.base, c.p.rows, c.p.columns, 1, c.p.line, 0, 0, c.p.line, 0}, c.dtype,
        c.stream);
}
