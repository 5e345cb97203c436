/* Softmax of rows: y[i,:] = exp(x[i,:] - max) / sum. y may be x.
 *
 * Maxima start at -FLT_MAX, not at -inf: then a row of nothing but -inf sums to 0 and becomes 0 / 0 = NaN, as it must,
 * and a thread with nothing but -inf does not (its exponentials are 0). */
#ifndef RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_CUH
#define RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_CUH

#include <float.h>

#include "cuda/ptx/math.cuh"
#include "cuda/rows/run.cuh"

namespace ridge {

/* e^(x - max). The difference first: exact where the exponential is largest, and in range for all finite x. */
__device__ inline float softmax_exponential(float x, float max) { return ex2_approx_ftz((x - max) * 0x1.715476p0f); }

/* An operation of rows/run.cuh: each thread's maximum and sum, merged in one exchange. */
struct row_softmax {
    template <typename T>
    static constexpr row_shape shape =
        sizeof(T) == 2
            ? row_shape{.elements = 32, .resident = 1536, .long_elements = 32, .long_resident = 1536, .filled = 0}
            : row_shape{.elements = 8, .resident = 2048, .long_elements = 32, .long_resident = 1024, .filled = 0};

    struct statistics {
        float max, inverse;
    };
    static constexpr int parameters = 0;
    __device__ bool usual(const statistics &, int64_t) const { return true; }

    /* x: a maximum, y: the sum of e^(element - maximum). Rounded step by step: fused, it would not commute. */
    struct merge {
        __device__ float2 operator()(float2 a, float2 b) const {
            const float max = fmaxf(a.x, b.x);
            return make_float2(max, __fadd_rn(__fmul_rn(a.y, softmax_exponential(a.x, max)),
                                              __fmul_rn(b.y, softmax_exponential(b.x, max))));
        }
    };

    template <typename Row>
    __device__ statistics of(Row &row) const {
        const float2 all = row.reduce(
            [](const auto &part) {
                float max = -FLT_MAX;
                part.each([&](float x, int) { max = fmaxf(max, x); });
                return make_float2(max, part.sum([=](float x) { return softmax_exponential(x, max); }));
            },
            merge());
        return {all.x, 1.0f / all.y};
    }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        (void)column;
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = softmax_exponential(v[e], s.max) * s.inverse;
    }
};

}  // namespace ridge

#endif
