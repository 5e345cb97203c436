/* y = clamp(a x + b, -1, 1) + z on a GPU.
 *
 * Floors: 3 size(x) bytes over the copy ceiling (12 bytes an element in f32, 6 in 16 bits), 8 instructions an element.
 * The baseline's two temporaries raise the bytes to 28 and 22. */
#include "cuda/maps/plain.cuh"
#include "cuda/ptx/math.cuh"

#include "memory_bound.h"

namespace {

using namespace ridge;

__device__ inline float affine(float x) { return fmaf(MEMORY_BOUND_A, x, MEMORY_BOUND_B); }
__device__ inline float clamp(float t) { return t > 1.0f ? 1.0f : t < -1.0f ? -1.0f : t; } /* NaN stays */

/* ---- optimized: one pass ---- */

template <typename T>
struct all_of_it : map_of<T, T, 2, 1> {
    template <int N>
    __device__ void operator()(const float (&x)[2][N], float (&y)[1][N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) y[0][i] = max_nan(-1.0f, min_nan(1.0f, affine(x[0][i]))) + x[1][i];
    }
};

/* ---- baseline: a kernel for each operation ---- */

template <typename T>
struct affine_pass {
    matrix<const T> x;
    matrix<float> t;
    __device__ void operator()(int64_t i, int64_t j) const { t.at(i, j) = affine(to_float(x.at(i, j))); }
};
struct clamp_pass {
    matrix<const float> t;
    matrix<float> clamped;
    __device__ void operator()(int64_t i, int64_t j) const { clamped.at(i, j) = clamp(t.at(i, j)); }
};
template <typename T>
struct add_pass {
    matrix<const float> t;
    matrix<const T> z;
    matrix<T> y;
    __device__ void operator()(int64_t i, int64_t j) const {
        y.at(i, j) = from_float<T>(t.at(i, j) + to_float(z.at(i, j)));
    }
};

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const int64_t n = call->dim[1];
    float *scaled = (float *)call->scratch, *clamped = scaled + call->dim[0] * n;
    RIDGE_TRY(launch_plain(call, affine_pass<T>{matrix_in<T>(&call->in[0]), {scaled, n}}));
    RIDGE_TRY(launch_plain(call, clamp_pass{{scaled, n}, {clamped, n}}));
    return launch_plain(call, add_pass<T>{{clamped, n}, matrix_in<T>(&call->in[1]), matrix_out<T>(&call->out[0])});
}

}  // namespace

extern "C" ridge_status memory_bound_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return launch_map(call, all_of_it<T>{}); });
}

extern "C" ridge_status memory_bound_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}
