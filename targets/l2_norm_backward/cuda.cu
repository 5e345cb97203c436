/* l2_norm_backward on a GPU: see row_gradient/held.cuh. */
#include "row_gradient/held.cuh"

extern "C" {
#include "l2_norm_backward.h"
}

namespace {

struct l2_statistics {
    float inverse, product; /* r, and the sum of z dy */
};

struct l2_rule {
    float eps;

    using sums = float2; /* of squares, and of x dy */
    explicit l2_rule(const ridge_call *call) : eps((float)call->option[L2_BACK_EPS]) {}
    __device__ float2 part(float x, float dy) const { return make_float2(x * x, x * dy); }
    __device__ l2_statistics finish(float2 of_row) const {
        const float norm = sqrtf(of_row.x), inverse = 1.0f / (norm < eps ? eps : norm); /* NaN stays */
        return {inverse, norm <= eps ? 0.0f : of_row.y * inverse};
    }
    __device__ float gradient(float x, float dy, l2_statistics row) const {
        return row.inverse * fmaf(-(x * row.inverse), row.product, dy);
    }
};

}  // namespace

#define RUN(name, threads, packs, idea) ROW_GRADIENT_RUN(l2_norm_backward, l2_rule, name, threads, packs)
ROW_GRADIENT_TILES(RUN)
ROW_GRADIENT_RUN_ANY(l2_norm_backward, l2_rule)
