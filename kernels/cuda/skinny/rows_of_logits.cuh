/* How the kernels of few classes end: a block owns rows, adds the parts of their sums in one order, the same at every
 * run, adds the bias, and has an Op make of whole rows of logits what is asked for. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_ROWS_OF_LOGITS_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_ROWS_OF_LOGITS_CUH

#include <float.h>

#include "cuda/ptx/math.cuh"
#include "cuda/skinny/args.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

__device__ inline void linear_write(float *p, const float (&v)[4], int n, int width) {
    if (width == 4 && n >= 4) {
        *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
    } else if (width == 2 && n >= 2) {
        *(float2 *)p = make_float2(v[0], v[1]);
        if (n >= 4) *(float2 *)(p + 2) = make_float2(v[2], v[3]);
        if (n == 3) p[2] = v[2];
    } else {
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (e < n) p[e] = v[e];
    }
}

/* Softmax of a row, of which a group of lanes has four classes each. Maxima start at -FLT_MAX: see online_softmax. */
struct linear_probabilities {
    struct known {};
    __device__ known ahead(const linear_args &, int64_t) const { return {}; }
    template <int Lanes>
    __device__ void finish(const linear_args &a, float (&z)[4], known, int64_t row, int column, bool present) const {
        float max = -FLT_MAX, sum = 0.0f;
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (column + e < a.classes) max = fmaxf(max, z[e]);
        max = lanes_max<Lanes>(max);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            z[e] = column + e < a.classes ? ex2_approx_ftz((z[e] - max) * 0x1.715476p0f) : 0.0f;
            sum += z[e];
        }
        const float scale = rcp_approx_ftz(lanes_sum<Lanes>(sum)); /* of at least 1, of NaN, or of 0: then NaN */
#pragma unroll
        for (int e = 0; e < 4; e++) z[e] *= scale;
        if (present) linear_write(a.p + row * a.p_row + column, z, (int)a.classes - column, a.p_width);
    }
};

/* From sums to logits to the result of Op, as linear_probabilities: ahead(row) loads what Op needs of a row while sums
 * are in flight. A group of lanes has a row, a lane four classes of it. */
template <typename L, typename Op>
struct linear_rows {
    static constexpr int lanes = L::NT <= 2 ? 4 : L::NT <= 4 ? 8 : L::NT <= 8 ? 16 : 32;
    static constexpr int rows = L::threads / lanes; /* at a time */
    const Op &op;
    int64_t row;
    float bias[4];
    int column;
    typename Op::known known; /* of the first */

    /* first: of the block's rows. */
    __device__ linear_rows(const linear_args &a, const Op &what, int64_t first)
        : op(what),
          row(first),
          column((int)threadIdx.x % lanes * 4),
          known(what.ahead(a, first + (int)threadIdx.x / lanes)) {
#pragma unroll
        for (int e = 0; e < 4; e++) bias[e] = column + e < a.classes ? a.b[column + e] : 0.0f;
    }
    /* `owned` rows, of n parts: sum_of(part, r, column) points to one's sums. Owned, Parts: what is known of both, or
     * 0. */
    template <int Owned, int Parts, typename Sum>
    __device__ void write(const linear_args &a, Sum sum_of, int owned, int n) const {
        if constexpr (Owned > 0) owned = Owned;
        if constexpr (Parts > 0) n = Parts;
        for (int first = 0; first < owned; first += rows) {
            const int r = first + (int)threadIdx.x / lanes;
            const bool present = r < owned && column < a.classes;
            float z[4] = {bias[0], bias[1], bias[2], bias[3]};
#pragma unroll 8
            for (int k = 0; k < n; k++) {
                const float4 v = *(const float4 *)sum_of(k, present ? r : 0, present ? column : 0);
                z[0] += v.x, z[1] += v.y, z[2] += v.z, z[3] += v.w;
            }
            op.template finish<lanes>(a, z, first == 0 ? known : op.ahead(a, row + r), row + r, column,
                                      present && row + r < a.batch);
        }
    }
};

}  // namespace ridge

#endif
