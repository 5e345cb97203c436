/* The baseline: the library's product to fp32, then the bias, layer norm and GELU, each a pass over memory. */
#include "gemm/norm_rows.cuh"
#include "cuda/epilogue/activation.cuh"
#include "cuda/host/view.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "gemm/library.h"
#include "linear_norm_activation.h"
}

namespace {

using namespace ridge;

template <typename T>
__global__ void __launch_bounds__(256) add_bias(float *h, const T *bias, int64_t rows, int64_t columns) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x;
    if (at < rows * columns) h[at] += to_float(bias[at % columns]);
}
template <typename T>
__global__ void __launch_bounds__(256) activate(const float *h, matrix_view y) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, row = at / y.columns, column = at % y.columns;
    if (row < y.rows) ((T *)y.base)[row * y.line + column] = from_float<T>(gelu(h[at]));
}

template <typename T>
ridge_status behind_product(const ridge_call *call, float *h) {
    const matrix_view y = view_of(call->out[0]);
    const int64_t blocks = (y.rows * y.columns + 255) / 256;
    const auto line = [&](int which) { return (const T *)ridge_data(&call->in[which]); };
    const norm_rows<T, float> norm = {h, y.columns, y.rows, y.columns, line(GEMM_NORM_GAMMA), line(GEMM_NORM_BETA),
                                      h, y.columns, false};
    const launch_shape flat = {dim3((unsigned)blocks), 256};
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(launch(add_bias<T>, flat, stream_of(call), h, line(GEMM_NORM_BIAS), y.rows, y.columns));
    RIDGE_TRY(norm.run(stream_of(call)));
    return launch(activate<T>, flat, stream_of(call), h, y);
}

}  // namespace

extern "C" ridge_status linear_norm_activation_cuda_baseline(const ridge_call *call) {
    if (call->dim[MATMUL_M] == 0) return RIDGE_OK;
    float *h;
    RIDGE_TRY(gemm_fp32_product_run(call, &h));
    return with_storage(call->dtype, [&]<typename T>() { return behind_product<T>(call, h); });
}
