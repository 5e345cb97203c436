/* square = x^2, relu = max(x, 0), affine = 1.5 x + 0.25 on a GPU.
 *
 * Floors: size(x) + 3 size(y) bytes over the copy ceiling (16 bytes an element in f32, 8 in 16 bits), 4 instructions an
 * element. A kernel for each map reads x three times: 24 and 12 bytes. */
#include "cuda/maps/plain.cuh"
#include "cuda/ptx/math.cuh"

namespace {

using namespace ridge;

enum { SQUARE, RELU, AFFINE, MAPS };

__device__ inline float square(float x) { return x * x; }
__device__ inline float relu(float x) { return x < 0.0f ? 0.0f : x; } /* NaN stays */
__device__ inline float affine(float x) { return fmaf(1.5f, x, 0.25f); }

/* ---- optimized: x is read once ---- */

template <typename T>
struct three_maps : map_of<T, T, 1, MAPS> {
    static constexpr int group = 1;        /* three results of each element: few at a time */
    static constexpr int least_blocks = 6; /* four address streams cost registers */
    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[MAPS][N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) {
            y[SQUARE][i] = square(x[0][i]);
            y[RELU][i] = max_nan(x[0][i], 0.0f);
            y[AFFINE][i] = affine(x[0][i]);
        }
    }
};

/* ---- baseline: a kernel for each map ---- */

template <typename T, int MAP>
struct one_map {
    matrix<const T> x;
    matrix<T> y;
    __device__ void operator()(int64_t i, int64_t j) const {
        const float v = to_float(x.at(i, j));
        y.at(i, j) = from_float<T>(MAP == SQUARE ? square(v) : MAP == RELU ? relu(v) : affine(v));
    }
};

template <typename T, int MAP>
ridge_status launch_one(const ridge_call *call) {
    return launch_plain(call, one_map<T, MAP>{matrix_in<T>(&call->in[0]), matrix_out<T>(&call->out[MAP])});
}

template <typename T>
ridge_status baseline(const ridge_call *call) {
    RIDGE_TRY((launch_one<T, SQUARE>(call)));
    RIDGE_TRY((launch_one<T, RELU>(call)));
    return launch_one<T, AFFINE>(call);
}

}  // namespace

extern "C" ridge_status horizontal_fusion_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return launch_map(call, three_maps<T>{}); });
}

extern "C" ridge_status horizontal_fusion_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}
