/* SiLU beside its derivative. Errors in units of u = 2^-24, as in activation.cuh. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_SILU_SLOPE_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_SILU_SLOPE_CUH

#include "cuda/ptx/math.cuh"

namespace ridge {

/* silu(x) = x s within 3 u |x|, and its slope s (1 + x (1 - s)) within 6 u; s = 1 / (1 + e^-x). 1 - s is e^-x s, which loses
 * nothing where s is near 1; the minimum is for an infinite e^-x, where that is NaN. */
struct silu_and_slope {
    float value, slope;
};
__device__ inline silu_and_slope silu_with_slope(float x) {
    const float e = ex2_approx_ftz(x * -0x1.715476p0f), s = rcp_approx_ftz(1.0f + e);
    return {x * s, s * fmaf(x, fminf(e * s, 1.0f), 1.0f)};
}

}  // namespace ridge

#endif
