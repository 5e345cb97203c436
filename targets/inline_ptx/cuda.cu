/* y = mean over k < reps of bf16(relu(x + b[k])), b[k] = (2k+1)/reps - 1, on a GPU.
 *
 * Floors, one repetition: 4 bytes an element over the copy ceiling. Many: the instructions. For two elements a
 * repetition takes two additions, two clamps, one rounding that packs both, two unpackings and two additions into the
 * sums; cvt.rn.relu.bf16x2.f32 has the clamps in it. Both variants share all but `relu_pair`. */
#include "cuda/maps/map.cuh"

namespace {

using namespace ridge;

/* Both rounded to bf16, negative ones zero, NaN kept. */
struct in_c {
    static __device__ __nv_bfloat162 relu_pair(float a, float b) {
        return __floats2bfloat162_rn(a < 0.0f ? 0.0f : a, b < 0.0f ? 0.0f : b);
    }
};
struct in_ptx {
    static __device__ __nv_bfloat162 relu_pair(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        union {
            uint32_t bits;
            __nv_bfloat162 pair;
        } u;
        asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;"
            : "=r"(u.bits)
            : "f"(b), "f"(a)); /* the first source is the upper half */
        return u.pair;
#else
        return in_c::relu_pair(a, b);
#endif
    }
};

template <typename HOW>
struct mean_of_relus : map_of<__nv_bfloat16, __nv_bfloat16, 1, 1> {
    int reps;
    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[1][N]) const {
        constexpr int pairs = (N + 1) / 2;
        const float spacing = 2.0f / (float)reps, share = 1.0f / (float)reps;
        float sum[2 * pairs] = {};
#pragma unroll 1
        for (int k = 0; k < reps; k++) {
            const float b = fmaf((float)k + 0.5f, spacing, -1.0f);
#pragma unroll
            for (int i = 0; i < pairs; i++) {
                union {
                    __nv_bfloat162 pair;
                    uint32_t bits;
                } term = {HOW::relu_pair(x[0][2 * i] + b, x[0][N > 1 ? 2 * i + 1 : 0] + b)};
                sum[2 * i] += __uint_as_float(term.bits << 16);
                sum[2 * i + 1] += __uint_as_float(term.bits & 0xffff0000u);
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) y[0][i] = sum[i] * share;
    }
};

template <typename HOW>
ridge_status run(const ridge_call *call) {
    if (call->dtype != RIDGE_BF16 || call->dim[2] < 1 || call->dim[2] > 256) return RIDGE_UNSUPPORTED;
    mean_of_relus<HOW> f;
    f.reps = (int)call->dim[2];
    return launch_map(call, f);
}

}  // namespace

extern "C" ridge_status inline_ptx_cuda_baseline(const ridge_call *call) { return run<in_c>(call); }
extern "C" ridge_status inline_ptx_cuda_optimized(const ridge_call *call) { return run<in_ptx>(call); }
