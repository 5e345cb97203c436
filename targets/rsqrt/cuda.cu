/* reps times: x becomes x / sqrt(1 + x^2), on a GPU.
 *
 * Floors, one repetition: size(x) + size(y) bytes over the copy ceiling, which leaves 56 instructions an element in f32
 * and 28 in 16 bits. Many: the instructions. Both variants share all but the one line that `step` is. */
#include "cuda/maps/map.cuh"

namespace {

using namespace ridge;

/* The compiler's correctly rounded root and quotient: about 20 instructions, and a branch for hard cases in each. */
struct divide_by_root {
    static __device__ float step(float x, float v) { return x / sqrtf(v); }
};
/* One instruction of the special function unit, range scaling around it, and a product. */
struct multiply_by_rsqrt {
    static __device__ float step(float x, float v) { return x * rsqrtf(v); }
};

template <typename T, typename HOW>
struct repeated : map_of<T, T, 1, 1> {
    static constexpr int unroll = 4;
    static constexpr int group = 1; /* the code of a division is long */
    int reps;
    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[1][N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) y[0][i] = x[0][i];
#pragma unroll 1
        for (int r = 0; r < reps; r++) {
#pragma unroll
            for (int i = 0; i < N; i++) y[0][i] = HOW::step(y[0][i], fmaf(y[0][i], y[0][i], 1.0f));
        }
    }
};

template <typename HOW>
ridge_status run(const ridge_call *call) {
    if (call->dim[2] > 4096) return RIDGE_UNSUPPORTED;
    return with_storage(call->dtype, [&]<typename T>() {
        repeated<T, HOW> f;
        f.reps = (int)call->dim[2];
        return launch_map(call, f);
    });
}

}  // namespace

extern "C" ridge_status rsqrt_cuda_baseline(const ridge_call *call) { return run<divide_by_root>(call); }
extern "C" ridge_status rsqrt_cuda_optimized(const ridge_call *call) { return run<multiply_by_rsqrt>(call); }
