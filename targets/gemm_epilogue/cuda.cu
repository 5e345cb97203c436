/* The baseline: the library's product to fp32, and a kernel that reads it, and what is given, and writes D. */
#include "gemm/call.cuh"

extern "C" {
#include "gemm/library.h"
}

namespace {

using namespace ridge;

template <typename T, typename To>
__global__ void __launch_bounds__(256)
    make_of_product(const float *product, matrix_view d, float alpha, const __grid_constant__ gemm_terms<T> terms) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, row = at / d.columns, column = at % d.columns;
    if (row >= d.rows) return;
    ((To *)d.base)[row * d.line + column * d.step] = from_float<To>(terms.of(alpha * product[at], row, column));
}

template <typename T, typename To>
ridge_status make(const ridge_call *call, const float *product) {
    const double *o = call->option;
    const matrix_view d = view_of(call->out[0]), c = view_of(call->in[GEMM_ADDEND]);
    const int64_t blocks = (d.rows * d.columns + 255) / 256;
    const gemm_terms<T> terms = {
        o[GEMM_HAS_ADDEND] > 0 ? c.base : NULL,
        c.line,
        c.step,
        o[GEMM_WIDE] > 0,
        (float)o[GEMM_BETA],
        o[GEMM_HAS_BIAS] > 0 ? (const T *)ridge_data(&call->in[GEMM_BIAS]) : NULL,
        o[GEMM_HAS_ROW_BIAS] > 0 ? (const T *)ridge_data(&call->in[GEMM_ROW_BIAS]) : NULL,
        (int)o[GEMM_FUNCTION],
    };
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch(make_of_product<T, To>, {dim3((unsigned)blocks), 256}, stream_of(call), product, d,
                  (float)o[GEMM_ALPHA], terms);
}

}  // namespace

extern "C" ridge_status gemm_epilogue_cuda_baseline(const ridge_call *call) {
    if (call->dim[MATMUL_M] == 0) return RIDGE_OK;
    float *product;
    RIDGE_TRY(gemm_fp32_product_run(call, &product));
    const bool wide = call->option[GEMM_WIDE] > 0;
    return with_storage(ridge_dtype_stored(call->dtype),
                        [&]<typename T>() { return wide ? make<T, float>(call, product) : make<T, T>(call, product); });
}
