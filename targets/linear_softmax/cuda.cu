/* softmax(x w + b) on a GPU: see README.md. cuda_tiles.cu has what is large, and 16 bits;
 * linear/softmax.cuh picks among the kernels for everything else. */
#include "cuda/linear/softmax.cuh"

extern "C" {
#include "linear_softmax.h"
#include "peer/cublaslt.h"
}

using namespace ridge;

static linear_args args_of(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *p = &call->out[0];
    const bool turned = w->strides && w->strides[1] != 1 && w->shape[1] > 1;
    linear_args a = {};
    a.x = (const float *)ridge_data(x), a.w = (const float *)ridge_data(w);
    a.b = (const float *)ridge_data(&call->in[LINEAR_B]), a.p = (float *)ridge_data(p);
    a.batch = call->dim[LINEAR_BATCH], a.depth = call->dim[LINEAR_DEPTH], a.classes = call->dim[LINEAR_CLASSES];
    a.x_row = ridge_row_stride(x), a.p_row = ridge_row_stride(p);
    a.w_depth = turned ? 1 : ridge_row_stride(w);
    a.w_class = turned ? w->strides[1] : 1;
    a.p_width = linear_width(a.p, a.p_row, 0);
    return a;
}

extern "C" ridge_status linear_softmax_cuda_optimized(const ridge_call *call) {
    const ridge_status tiles = linear_softmax_cuda_tiles(call);
    if (tiles != RIDGE_UNSUPPORTED) return tiles;
    if (ridge_dtype_size(call->dtype) == 2) return linear_softmax_cuda_logits(call);
    return linear_softmax_fused(args_of(call), 1, stream_of(call));
}

extern "C" ridge_status linear_softmax_cuda_unfused(const ridge_call *call) {
    if (ridge_dtype_size(call->dtype) == 2) return linear_softmax_cuda_logits(call);
    return linear_softmax_unfused(args_of(call), 1, stream_of(call));
}

/* The library's product and bias to p, softmax in place. */
extern "C" ridge_status linear_softmax_cuda_baseline(const ridge_call *call) {
    const linear_args a = args_of(call);
    cublaslt_operands o = {};
    o.x = a.x, o.w = a.w, o.b = a.b, o.z = a.p;
    o.x_row = a.x_row, o.w_row = a.w_class == 1 ? a.w_depth : a.w_class, o.z_row = a.p_row;
    RIDGE_TRY(cublaslt_run((const cublaslt_plan *)call->plan, &o, call->scratch, call->stream));
    return linear_softmax_in_place(a, 1, stream_of(call));
}

static_assert((int)LINEAR_CUDA_CLASSES == (int)LINEAR_NARROW && (int)LINEAR_CUDA_DEPTH == (int)LINEAR_SHALLOW,
              "what traffic is counted by");
