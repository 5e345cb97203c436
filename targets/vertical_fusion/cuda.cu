/* y = sqrt(2 + sin x) on a GPU.
 *
 * Floors: size(x) + size(y) bytes over the copy ceiling: 8 bytes an element in f32, 4 in 16 bits, which is 56 and 28
 * instructions an element. The optimized kernel takes about 20. The baseline moves 16 and 12 bytes. */
#include "cuda/maps/plain.cuh"
#include "cuda/maps/math.cuh"

namespace {

using namespace ridge;

/* ---- optimized: the sine goes into the root in a register ---- */

/* In 16 bits the machine's own root will do: with it the result is within 3.6 2^-24 before it is rounded to storage,
 * and where that rounding is as large as the bound permits, at a tie next to 1, the bound leaves 2^-22 or more. */
template <typename T>
struct sine_and_root : map_of<T, T, 1, 1> {
    static constexpr bool narrow_storage = sizeof(T) == 2;
    static constexpr bool may_be_far = !std::is_same<T, __half>::value;

    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[1][N]) const {
        float v[N];
#pragma unroll
        for (int i = 0; i < N; i++) v[i] = x[0][i];
        if constexpr (may_be_far) {
            float largest = 0.0f;
#pragma unroll
            for (int i = 0; i < N; i++) largest = fmaxf(largest, fabsf(v[i]));
            if (largest > sin_near_limit) {
#pragma unroll
                for (int i = 0; i < N; i++)
                    if (fabsf(v[i]) > sin_near_limit) v[i] = sin_wrap(v[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float t = 2.0f + sin_near(v[i]);
            y[0][i] = narrow_storage ? sqrt_coarse(t) : sqrt_normal(t);
        }
    }
};

/* ---- baseline: the sines go through memory ---- */

template <typename T>
struct sine {
    matrix<const T> x;
    matrix<float> t;
    __device__ void operator()(int64_t i, int64_t j) const { t.at(i, j) = sinf(to_float(x.at(i, j))); }
};
template <typename T>
struct root {
    matrix<const float> t;
    matrix<T> y;
    __device__ void operator()(int64_t i, int64_t j) const { y.at(i, j) = from_float<T>(sqrtf(2.0f + t.at(i, j))); }
};

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const int64_t n = call->dim[1];
    float *sines = (float *)call->scratch;
    RIDGE_TRY(launch_plain(call, sine<T>{matrix_in<T>(&call->in[0]), {sines, n}}));
    return launch_plain(call, root<T>{{sines, n}, matrix_out<T>(&call->out[0])});
}

}  // namespace

extern "C" ridge_status vertical_fusion_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return launch_map(call, sine_and_root<T>{}); });
}

extern "C" ridge_status vertical_fusion_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}
