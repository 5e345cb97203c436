/* Parts of a row's softmax: a shift and the sum of 2^(z - shift). */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_SOFTMAX_PART_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_SOFTMAX_PART_CUH

#include <math.h>
#include <stdint.h>

#include "cuda/ptx/math.cuh"
#include "cuda/tile/fragment.cuh"
#include "cuda/tile/reduce.cuh"

extern "C" {
#include "cuda/epilogue/parts.h"
}

namespace ridge {

constexpr float log2_e = 0x1.715476p+0f, ln_2 = 0x1.62e43p-1f;

__device__ inline softmax_part merge_parts(softmax_part a, softmax_part b) {
    const float shift = fmaxf(a.shift, b.shift);
    return {shift, a.sum * exp2f(a.shift - shift) + b.sum * exp2f(b.shift - shift)};
}

/* No sum: there is no largest logit that is finite. */
__device__ inline float log_of_part(softmax_part p) { return p.sum > 0.0f ? p.shift + log2f(p.sum) : NAN; }

/* ---- of a row of a warpgroup's fragment ---- */

/* The largest v of a row, rounded up; 0 where there is none. */
template <int Which, int Count>
__device__ inline float row_shift(float (&v)[Count]) {
    float most[2] = {-INFINITY, -INFINITY};
    each_of_row<Which>(v, [&](float &x, int i) { most[i % 2] = fmaxf(most[i % 2], x); });
    const float top = ceilf(quad_max(fmaxf(most[0], most[1])));
    return top == -INFINITY ? 0.0f : top;
}

/* The sum of 2^(v - shift). Keep: v becomes 2^(v - shift). */
template <int Which, bool Keep, bool Shift, int Count>
__device__ inline float row_exponentials(float (&v)[Count], float shift) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    each_of_row<Which>(v, [&](float &x, int i) {
        const float e = ex2_approx_ftz(Shift ? x - shift : x);
        if (Keep) x = e;
        sum[i % 4] += e;
    });
    return quad_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Turns one row's logits into 2^(v - shift), the largest of them in (2^(Scale - 1), 2^Scale]. */
template <int Which, int Scale, int Count>
__device__ inline softmax_part exponentiate_row(float (&v)[Count]) {
    const float shift = row_shift<Which>(v) - (float)Scale;
    return {shift, row_exponentials<Which, true, true>(v, shift)};
}

/* Only their sum. Logits of usual size need no shift; the sum is computed again where it shows that these do. */
template <int Which, int Count>
__device__ inline softmax_part sum_row(float (&v)[Count]) {
    softmax_part p = {0.0f, row_exponentials<Which, false, false>(v, 0.0f)};
    const bool far = !(p.sum >= 0x1p-40f && p.sum <= 0x1p120f);
    if (__any_sync(0xffffffffu, far)) {
        const float shift = row_shift<Which>(v), sum = row_exponentials<Which, false, true>(v, shift);
        if (far) p = {shift, sum};
    }
    return p;
}

/* ---- how many ---- */

/* Tiles of `spans` parts each that make a unit, so that there are at most LINEAR_PARTS parts. */
inline int parts_run(int64_t classes, int tile, int spans = 1) {
    const int64_t tiles = (classes + tile - 1) / tile, units = LINEAR_PARTS / spans;
    return (int)((tiles + units - 1) / units);
}
/* Of them, those with columns. */
inline int parts_count(int64_t classes, int tile, int spans = 1) {
    const int64_t columns = (int64_t)tile * parts_run(classes, tile, spans), units = (classes + columns - 1) / columns;
    const int64_t of_last = (classes - (units - 1) * columns + tile / spans - 1) / (tile / spans);
    return (int)((units - 1) * spans + (of_last < spans ? of_last : spans));
}

}  // namespace ridge

#endif
