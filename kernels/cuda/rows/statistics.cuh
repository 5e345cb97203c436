/* What norms of a row need to know of it: root mean square, or mean and deviation. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_STATISTICS_CUH
#define RIDGE_KERNELS_CUDA_ROWS_STATISTICS_CUH

#include <cuda_runtime.h>
#include <float.h>

namespace ridge {

constexpr float ROW_RESCUE_SCALE = 0x1p-100f; /* brings the squares of any finite row into range */

/* ---- l2 and RMS norm ---- */

/* What a row is multiplied by: first `scale` (1 but in rows whose squares overflow), then `inverse`. */
struct row_factors {
    float scale, inverse;
};

/* inverse = 1 / sqrt(inverse_n sum of squares + eps); at_least: 1 / max(sqrt(inverse_n sum of squares), eps). */
template <typename Row>
__device__ row_factors row_root_factors(Row &row, float inverse_n, float eps, bool at_least) {
    const float sum = row.squares();
    const bool overflow = !(sum <= FLT_MAX);
    if (row.any(overflow)) {
        const float scaled = row.sum([](float x) { return x * ROW_RESCUE_SCALE * (x * ROW_RESCUE_SCALE); });
        if (overflow) return {ROW_RESCUE_SCALE, 1.0f / sqrtf(scaled * inverse_n)};
    }
    if (!at_least) return {1.0f, 1.0f / sqrtf(fmaf(sum, inverse_n, eps))};
    const float norm = sqrtf(sum * inverse_n);
    return {1.0f, 1.0f / (norm < eps ? eps : norm)};
}

/* ---- layer norm ---- */

/* (x - mean) r = x inverse + shift. Where the sums of x and x^2 did not serve (scale is not 0), (x scale + shift)
 * inverse: exactly zero in a row of equal elements. */
struct row_affine {
    float inverse, shift, scale;
    template <bool Usual>
    __device__ float of(float x) const {
        return Usual || scale == 0.0f ? fmaf(x, inverse, shift) : fmaf(x, scale, shift) * inverse;
    }
};

/* The mean first, then the squares about it; and both once more, scaled, where an attempt failed. One piece of code for
 * all of these passes: they are rare, and it is long. */
template <typename Row>
__device__ row_affine row_centered_again(Row &row, bool far, row_affine s, float inverse_n, float eps) {
    float scale = 1.0f, shift = 0.0f;
    bool squares = false;
#pragma unroll 1
    for (;;) {
        const float mean = inverse_n * row.sum([=](float x) {
            const float d = fmaf(x, scale, shift);
            return squares ? d * d : d;
        });
        if (!squares) {
            shift = -mean, squares = true;
            continue;
        }
        if (far) s = {1.0f / sqrtf(mean + eps), shift, scale};
        /* 0 or NaN: a sum overflowed, or an element is not finite; then the next attempt says the same. */
        far = scale == 1.0f && !(s.inverse > 0.0f);
        if (!row.any(far)) return s;
        /* Not 0: the variance of equal elements is, and 0 times an infinity would be NaN. */
        scale = ROW_RESCUE_SCALE, shift = 0.0f, eps = FLT_MIN, squares = false;
    }
}

/* Mean and variance from the sums of x and x^2 where the row's mean is small beside its deviation; other rows have the
 * mean first, then the squares about it, both from registers. T: the row's storage type. */
template <typename T, typename Row>
__device__ row_affine row_centered_affine(Row &row, float inverse_n, float eps) {
    /* (mean / deviation)^2 up to which the difference of two sums serves: targets/norm_activation/README.md, "Bound" */
    constexpr float near_zero = sizeof(T) == 2 ? 4.0f : 0.0625f;
    const float2 sums = row.moments();
    const float mean = sums.x * inverse_n, square = mean * mean;
    const float variance = fmaf(sums.y, inverse_n, -square);
    const float inverse = 1.0f / sqrtf(variance + eps);
    const bool far = !(square < near_zero * variance && variance <= FLT_MAX);
    const row_affine s = {inverse, -mean * inverse, 0.0f};
    return row.any(far) ? row_centered_again(row, far, s, inverse_n, eps) : s;
}

}  // namespace ridge

#endif
