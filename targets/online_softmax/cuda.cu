/* y[i,:] = exp(x[i,:] - max) / sum on a GPU: see README.md.
 *
 * Two floors: 2 size(x) bytes over the copy bandwidth; some 20 instructions an element, two of them exponentials (once
 * for the sum, once to be written), over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16
 * 126 us; 134 M elements x 20 over 132 x 128 x 1.9 GHz = 84 us, and 268 M exponentials over 132 x 16 x 1.9 GHz = 67 us.
 * Bandwidth-bound: 97 % of the copy is expected. */
#include "cuda/rows/passes.cuh"
#include "cuda/rows/softmax.cuh"

extern "C" {
#include "online_softmax.h"
}

using namespace ridge;

/* ---- optimized: see rows/softmax.cuh; the row stays in registers ---- */

static_assert(row_traits_are<row_softmax, row_softmax>(row_traits ONLINE_SOFTMAX_ROWS));

extern "C" ridge_status online_softmax_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype,
                        [&]<typename T>() { return row_run(call, row_tensors_of<T>(call), row_softmax()); });
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
