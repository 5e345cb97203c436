/* Functions that the row kernels apply to every element, cheap enough to hide behind the bytes: an SM that
 * copies bf16 has some 28 instructions an element to spend, those of loading, storing and statistics included.
 *
 * Errors are absolute in units of u = 2^-24, over all finite arguments; NaN and infinities as the exact function. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_ACTIVATION_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_ACTIVATION_CUH

#include "cuda/ptx/math.cuh"

extern "C" {
#include "model/activation.h"
}

namespace ridge {

/* x (1 + erf(x / sqrt 2)) / 2 within 5 u |x|. The normal tail Q(a) = (1 - erf(a / sqrt 2)) / 2 is 2^p(a): its logarithm
 * is so smooth that a polynomial of degree 6 (weighted least maximum on [0, 6], 1.8 u) does, where erf itself needs
 * twice that. Then gelu(x) = x / 2 + |x| (1/2 - Q(|x|)), in which -inf gives NaN and +inf stays, as they must. */
__device__ inline float gelu(float x) {
    float a = fminf(fabsf(x), 6.0f), p = 1.91750100e-05f;
    p = fmaf(p, a, -6.58607490e-04f);
    p = fmaf(p, a, 7.75441766e-03f);
    p = fmaf(p, a, -5.29654047e-02f);
    p = fmaf(p, a, -4.59060246e-01f);
    p = fmaf(p, a, -1.15112205e+00f);
    p = fmaf(p, a, -9.99999693e-01f);
    return fmaf(0.5f, x, fabsf(x) * (0.5f - ex2_approx_ftz(p)));
}

/* The same for results of 16 bits: within 2^-15.7 |x|, and where the result is small within 0.2 % of it as far as x =
 * -5. Of degree 5, falling without end: no limit is needed. */
__device__ inline float gelu_short(float x) {
    const float a = fabsf(x);
    float p = -2.83647096e-04f;
    p = fmaf(p, a, 5.57897473e-03f);
    p = fmaf(p, a, -4.79676649e-02f);
    p = fmaf(p, a, -4.63526607e-01f);
    p = fmaf(p, a, -1.14985514e+00f);
    p = fmaf(p, a, -1.00005102e+00f);
    return fmaf(0.5f, x, a * (0.5f - ex2_approx_ftz(p)));
}

/* GELU in its tanh form, x (1 + tanh(z)) / 2 = x / (1 + e^-2z), within 10 u |x|. */
__device__ inline float gelu_tanh(float x) {
    const float t = x * fmaf(GELU_TANH_B * x, x, GELU_TANH_A);
    return x * rcp_approx_ftz(1.0f + ex2_approx_ftz(-t));
}

/* x / (1 + e^-x) within 3 u |x|. */
__device__ inline float silu(float x) { return x * rcp_approx_ftz(1.0f + ex2_approx_ftz(x * -0x1.715476p0f)); }

}  // namespace ridge

#endif
