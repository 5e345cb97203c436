/* A block has a row of fp32, which it reads three times, twice of that from L1: the mean, the squares about it, the result. */
#include <float.h>

#include "gemm/norm_rows.cuh"
#include "cuda/epilogue/activation.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/reduce.cuh"

extern "C" {
#include "model/norm_eps.h"
}

namespace ridge {

constexpr int NORM_ROWS_THREADS = 256;

/* The sum of f(j) over a row's columns, for all threads, always in the same order. */
template <typename F>
__device__ inline float norm_row_sum(int64_t columns, float *of_warps, F f) {
    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < columns; j += NORM_ROWS_THREADS) sum += f(j);
    sum = lanes_sum<32>(sum);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    float all = 0.0f;
#pragma unroll
    for (int w = 0; w < NORM_ROWS_THREADS / 32; w++) all += of_warps[w];
    return all;
}

template <typename T, typename To>
__global__ void __launch_bounds__(NORM_ROWS_THREADS) norm_rows_kernel(const __grid_constant__ norm_rows<T, To> p) {
    __shared__ float of_warps[NORM_ROWS_THREADS / 32];
    const float *const h = p.h + blockIdx.x * p.h_line, share = 1.0f / (float)p.columns;
    To *const y = p.y + blockIdx.x * p.y_line;
    after_previous_launch();
    const float mean = norm_row_sum(p.columns, of_warps, [&](int64_t j) { return h[j] * share; });
    const auto variance = [&](float scale) {
        return norm_row_sum(p.columns, of_warps, [&](int64_t j) {
            const float d = (h[j] - mean) * scale;
            return d * d * share;
        });
    };
    float scale = 1.0f, inverse = 1.0f / sqrtf(variance(1.0f) + NORM_EPS);
    if (!(inverse > 0.0f)) scale = NORM_RESCUE, inverse = 1.0f / sqrtf(variance(NORM_RESCUE) + FLT_MIN);
    for (int64_t j = threadIdx.x; j < p.columns; j += NORM_ROWS_THREADS) {
        const float v = fmaf((h[j] - mean) * scale * inverse, to_float(p.gamma[j]), to_float(p.beta[j]));
        y[j] = from_float<To>(p.activates ? gelu(v) : v);
    }
}

template <typename T, typename To>
ridge_status norm_rows<T, To>::run(cudaStream_t stream) const {
    if (rows > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (rows == 0) return RIDGE_OK;
    return launch_overlapping(norm_rows_kernel<T, To>, {dim3((unsigned)rows), NORM_ROWS_THREADS}, stream,
                              device_overlaps(), *this);
}
template struct norm_rows<float, float>;
template struct norm_rows<__nv_bfloat16, float>;
template struct norm_rows<__half, float>;
template struct norm_rows<__nv_bfloat16, __nv_bfloat16>;
template struct norm_rows<__half, __half>;

}  // namespace ridge
