/* y[i,:] = exp(x[i,:] - max) / sum on a GPU: see README.md.
 *
 * Two floors: 2 size(x) bytes over the copy bandwidth; some 20 instructions an element, two of them exponentials (once
 * for the sum, once to be written), over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16
 * 126 us; 134 M elements x 20 over 132 x 128 x 1.9 GHz = 84 us, and 268 M exponentials over 132 x 16 x 1.9 GHz = 67 us.
 * Memory binds: 97 % of the copy is expected.
 *
 * Maxima start at -FLT_MAX, not at -inf: then a row of nothing but -inf sums to 0 and becomes 0 / 0 = NaN, as it must,
 * and a thread with nothing but -inf does not (its exponentials are 0). */
#include <float.h>

#include "cuda/row_math.cuh"
#include "cuda/row_passes.cuh"

using namespace ridge;

/* e^(x - max). The difference first: exact where the exponential is largest, and in range for all finite x. */
__device__ static inline float exponential(float x, float max) { return exp2_flushed((x - max) * 0x1.715476p0f); }

/* ---- optimized: each thread's maximum and sum, merged in one exchange; the row stays in registers ---- */

struct softmax {
    template <typename T>
    static constexpr row_shape shape = sizeof(T) == 2 ? row_shape{32, 1536, 32, 1536, 0}
                                                      : row_shape{8, 2048, 32, 1024, 0};

    struct statistics {
        float max, inverse;
    };
    static constexpr int parameters = 0;
    __device__ bool usual(const statistics &, int64_t) const { return true; }

    /* x: a maximum, y: the sum of e^(element - maximum). Rounded step by step: fused, it would not commute. */
    struct merge {
        __device__ float2 operator()(float2 a, float2 b) const {
            const float max = fmaxf(a.x, b.x);
            return make_float2(max,
                               __fadd_rn(__fmul_rn(a.y, exponential(a.x, max)), __fmul_rn(b.y, exponential(b.x, max))));
        }
    };

    template <typename Row>
    __device__ statistics of(Row &row) const {
        const float2 all = row.reduce(
            [](const auto &part) {
                float max = -FLT_MAX;
                part.each([&](float x, int) { max = fmaxf(max, x); });
                return make_float2(max, part.sum([=](float x) { return exponential(x, max); }));
            },
            merge());
        return {all.x, 1.0f / all.y};
    }

    template <int How, int N>
    __device__ void finish(float (&v)[N], const statistics &s, int64_t column) const {
        (void)column;
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = exponential(v[e], s.max) * s.inverse;
    }
};

extern "C" ridge_status online_softmax_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype,
                        [&]<typename T>() { return row_run(row_tensors_of<T>(call), softmax(), stream_of(call)); });
}

/* ---- baseline: maxima, exponentials to memory, their sums, the division ---- */

struct itself {
    __device__ float operator()(float v) const { return v; }
};
struct larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct exponential_of {
    const float *maxima;
    __device__ float operator()(float v, int64_t row) const { return exp2f((v - maxima[row]) * 0x1.715476p0f); }
};
struct divided {
    const float *sums;
    __device__ float operator()(float v, int64_t row) const { return v / sums[row]; }
};

extern "C" ridge_status online_softmax_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() -> ridge_status {
        const cudaStream_t stream = stream_of(call);
        const auto e = row_to_temporary<T>(call);
        float *maxima = row_statistic(call, 0), *sums = row_statistic(call, 1);
        RIDGE_TRY(row_reduce(e.x, e.x_stride, e.rows, e.n, maxima, -FLT_MAX, itself(), larger(), stream));
        RIDGE_TRY(row_map(e, exponential_of{maxima}, stream));
        RIDGE_TRY(row_reduce((const float *)e.y, e.y_stride, e.rows, e.n, sums, 0.0f, itself(), row_plus(), stream));
        return row_map(row_from_temporary<T>(call), divided{sums}, stream);
    });
}
