/* H classifiers over one x on a GPU. Few tiles: the heads are one dimension of the grid of linear/softmax.cuh's
 * kernels, each of whose blocks splits its operands for itself. As many tiles of 128 rows and a head as SMs: operands
 * are split once, and a tile of linear/softmax_tiles.cuh is 128 rows of one head. */
#include "cuda/linear/softmax_tiles.cuh"
#include "cuda/linear/softmax.cuh"

extern "C" {
#include "multihead_linear_softmax.h"
#include "peer/cublaslt.h"
}

using namespace ridge;

static linear_args args_of(const ridge_call *call) {
    const DLTensor *x = &call->in[HEADS_X], *w = &call->in[HEADS_W], *b = &call->in[HEADS_B], *p = &call->out[0];
    linear_args a = {};
    a.x = (const float *)ridge_data(x), a.w = (const float *)ridge_data(w);
    a.b = (const float *)ridge_data(b), a.p = (float *)ridge_data(p);
    a.batch = call->dim[HEADS_BATCH], a.depth = call->dim[HEADS_DEPTH], a.classes = call->dim[HEADS_CLASSES];
    a.x_row = heads_stride(x, 0), a.w_depth = heads_stride(w, 1), a.w_class = 1, a.p_row = heads_stride(p, 0);
    a.w_head = heads_stride(w, 0), a.b_head = heads_stride(b, 0), a.p_head = heads_stride(p, 1);
    a.p_width = linear_width(a.p, a.p_row, a.p_head);
    return a;
}

static linear_softmax_call tiles_of(const ridge_call *call) {
    const linear_args a = args_of(call);
    linear_softmax_call c = {};
    c.x = {(void *)a.x, a.batch, a.depth, a.x_row, 1};
    c.w = {(void *)a.w, a.classes, a.depth, a.w_class, a.w_depth};
    c.p = {a.p, a.batch, a.classes, a.p_row, 1};
    c.bias = a.b;
    c.heads = (int)call->dim[HEADS_HEADS];
    c.w_head = a.w_head, c.bias_head = a.b_head, c.p_head = a.p_head;
    c.scratch = (char *)call->scratch;
    c.at = linear_softmax_scratch_of(a.batch, a.depth, a.classes, c.heads, call->dtype);
    c.stream = stream_of(call);
    return c;
}

extern "C" ridge_status multihead_linear_softmax_cuda_optimized(const ridge_call *call) {
    if (device_is_hopper() && heads_are_large(call->dim)) {
        const linear_softmax_call c = tiles_of(call);
        const ridge_status tiles = linear_softmax_takes<float>(c) ? linear_softmax_split(c) : RIDGE_UNSUPPORTED;
        if (tiles != RIDGE_UNSUPPORTED) return tiles;
    }
    return linear_softmax_fused(args_of(call), (int)call->dim[HEADS_HEADS], stream_of(call));
}

/* A launch a head of what serves one. */
extern "C" ridge_status multihead_linear_softmax_cuda_launches(const ridge_call *call) {
    linear_args a = args_of(call);
    for (int64_t h = 0; h < call->dim[HEADS_HEADS]; h++) {
        RIDGE_TRY(linear_softmax_fused(a, 1, stream_of(call)));
        a.w += a.w_head, a.b += a.b_head, a.p += a.p_head;
    }
    return RIDGE_OK;
}

/* y = x + b of row's head, in place. */
__global__ void add_bias(linear_args a, int heads) {
    const int64_t all = a.batch * heads * a.classes;
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < all; e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t c = e % a.classes, h = e / a.classes % heads, i = e / a.classes / heads;
        a.p[i * a.p_row + h * a.p_head + c] += a.b[h * a.b_head + c];
    }
}

/* The library's products of all heads in one call, then bias and softmax. Its epilogue has one bias only. */
extern "C" ridge_status multihead_linear_softmax_cuda_baseline(const ridge_call *call) {
    const linear_args a = args_of(call);
    const int heads = (int)call->dim[HEADS_HEADS];
    cublaslt_operands o = {};
    if (a.batch == 0 || heads == 0) return RIDGE_OK;
    o.x = a.x, o.w = a.w, o.z = a.p, o.b = heads == 1 ? a.b : NULL;
    o.x_row = a.x_row, o.w_row = a.w_depth, o.z_row = a.p_row, o.w_next = a.w_head, o.z_next = a.p_head;
    RIDGE_TRY(cublaslt_run((const cublaslt_plan *)call->plan, &o, call->scratch, call->stream));
    if (heads > 1) RIDGE_TRY(launch(add_bias, {dim3(1024), 256}, stream_of(call), a, heads));
    return linear_softmax_in_place(a, heads, stream_of(call));
}
