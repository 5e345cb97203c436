/* C = A B^T on any GPU, A and B in NVFP4: both in 16 bits through memory, a product, then both tensors' scales. */
#include "cuda/maps/plain.cuh"
#include "gemm/best.cuh"
#include "quantize/nvfp4.cuh"

extern "C" {
#include "nvfp4_scaled_gemm.h"
}

namespace {

using namespace ridge;

template <typename T>
struct scaled_sums {
    matrix<const float> sums;
    matrix<T> c;
    const float *a, *b; /* the tensors' scales */
    __device__ void operator()(int64_t i, int64_t j) const { c.at(i, j) = from_float<T>(sums.at(i, j) * (*a * *b)); }
};

template <typename T>
ridge_status dequantized(const ridge_call *call) {
    const int64_t m = call->dim[SCALED_M], n = call->dim[SCALED_N], k = call->dim[SCALED_K];
    const scaled_scratch at = scaled_scratch_of(m, n, k);
    char *const base = (char *)call->scratch;
    const matrix_view a = {base + at.a, m, k, at.line, 1}, b = {base + at.b, n, k, at.line, 1},
                      sums = {base, m, n, n, 1};
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY(nvfp4_to_16<T>(call, &call->in[SCALED_A], &call->in[SCALED_A_SCALE], m, k, a));
    RIDGE_TRY(nvfp4_to_16<T>(call, &call->in[SCALED_B], &call->in[SCALED_B_SCALE], n, k, b));
    RIDGE_TRY(gemm_at_best(gemm_call(a, transposed(b), sums, call->dtype, true, stream_of(call))));
    return launch_plain(call, m, n,
                        scaled_sums<T>{{(const float *)base, n},
                                       matrix_out<T>(&call->out[0]),
                                       (const float *)ridge_data(&call->in[SCALED_A_TENSOR]),
                                       (const float *)ridge_data(&call->in[SCALED_B_TENSOR])});
}

}  // namespace

extern "C" ridge_status nvfp4_scaled_gemm_cuda_dequantized(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return dequantized<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? dequantized<__half>(call) : RIDGE_UNSUPPORTED;
}
