/* softmax(x w + b) where it is large: tiles of 128 rows and 256 (fp32: 128) classes on Hopper's tensor cores.
 *
 * Floors of 8192 x 4096 x 1000 on an H200: 67 GFLOP, in tf32 140 us at the 486 TFLOP/s of its peak loop, with classes
 * filled up to 1024; in fp32, three products of hi and lo parts at 962, 214 us, and 65 us for the pass that splits x
 * (268 MB).
 */
#include "cuda/linear/softmax_tiles.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/rows/softmax.cuh"

extern "C" {
#include "linear_softmax.h"
}

using namespace ridge;

static linear_softmax_call call_of(const ridge_call *call) {
    linear_softmax_call c = {};
    c.x = view_of(call->in[LINEAR_X]);
    c.w = transposed(view_of(call->in[LINEAR_W]));
    c.p = view_of(call->out[0]);
    c.bias = ridge_data(&call->in[LINEAR_B]);
    c.heads = 1;
    c.scratch = (char *)call->scratch;
    c.at = linear_softmax_scratch_of(c.x.rows, c.x.columns, c.p.columns, 1, call->dtype);
    c.stream = stream_of(call);
    return c;
}

static bool is_large(const linear_softmax_call &c) {
    return linear_softmax_is_large(c.x.rows, c.x.columns, c.p.columns);
}

extern "C" ridge_status linear_softmax_cuda_tiles(const ridge_call *call) {
    const linear_softmax_call c = call_of(call);
    if (!device_is_hopper()) return RIDGE_UNSUPPORTED;
    switch (call->dtype) {
        case RIDGE_F32:
            return is_large(c) && linear_softmax_takes<float>(c) ? linear_softmax_split(c) : RIDGE_UNSUPPORTED;
        case RIDGE_TF32: return linear_softmax_takes<float>(c) ? linear_softmax_tf32(c) : RIDGE_UNSUPPORTED;
        case RIDGE_BF16:
            return linear_softmax_takes<__nv_bfloat16>(c) ? linear_softmax_16<__nv_bfloat16>(c) : RIDGE_UNSUPPORTED;
        case RIDGE_F16: return linear_softmax_takes<__half>(c) ? linear_softmax_16<__half>(c) : RIDGE_UNSUPPORTED;
        default: return RIDGE_UNSUPPORTED;
    }
}

template <typename T>
static ridge_status through_logits(const linear_softmax_call &c) {
    const int64_t rows = c.p.rows, classes = c.p.columns;
    float *z = (float *)(c.scratch + c.at.logits);
    if (rows == 0) return RIDGE_OK;
    if (rows > INT32_MAX || classes > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (device_is_hopper() && is_tileable<T>(c.x) && is_tileable<T>(c.w)) {
        const float_epilogue<T, 256> e = {z, c.at.logits_stride, (const T *)c.bias, (int)rows, (int)classes};
        RIDGE_TRY(product<T>(c.x, c.w, matmul_whole(c.x.columns, 64, 8), e, c.stream));
    } else {
        const any_logits_store<T> e = {z, c.at.logits_stride, (const T *)c.bias, rows, classes, 0, 0, true};
        RIDGE_TRY(any_run(any_matrix<T>(c.x), any_matrix<T>(c.w), rows, classes, c.x.columns, e, c.stream));
    }
    const row_tensors<float, T> io = {z, (T *)c.p.base, rows, classes, c.at.logits_stride, c.p.line};
    return row_run(io, row_softmax(), c.stream);
}

extern "C" ridge_status linear_softmax_cuda_logits(const ridge_call *call) {
    const linear_softmax_call c = call_of(call);
    return call->dtype == RIDGE_BF16 ? through_logits<__nv_bfloat16>(c) : through_logits<__half>(c);
}
