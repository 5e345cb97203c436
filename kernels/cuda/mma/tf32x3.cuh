/* fp32 products by mma.sync from tf32 parts (tile/split.cuh): x w = lo hi + hi lo + hi hi + O(2^-22). Tensor cores
 * truncate as they add: so a chain of products is short, two steps of 8, and chains are added in fp32, which rounds to
 * nearest.
 *
 * L has MT and N (a warp's tiles of 16 rows, of 8 classes), x_pitch and w_pitch (of shared memory), trans (of w,
 * classes are rows). */
#ifndef RIDGE_KERNELS_CUDA_MMA_TF32X3_CUH
#define RIDGE_KERNELS_CUDA_MMA_TF32X3_CUH

#include "cuda/ptx/mma.cuh"
#include "cuda/tile/split.cuh"

namespace ridge {

/* A lane's sums: of hi hi, and, two thousand times smaller, of lo hi and hi lo. Three chains, because a product on the
 * tensor cores waits for the one that it is added to some 30 cycles, in which four others could be done. */
template <typename L>
struct linear_sums {
    float hi[L::MT][L::N][4] = {}, lo[2][L::MT][L::N][4] = {};
    __device__ float at(int m, int n, int e) const { return hi[m][n][e] + (lo[0][m][n][e] + lo[1][m][n][e]); }
};

/* What a lane multiplies in two steps of 8, for all tiles of its warp: x and w point to the first of its rows and
 * classes. */
template <typename L>
struct linear_operands {
    float2 x[L::MT][2][2]; /* tile, step, row g or g + 8 */
    float w[L::N][2][2];   /* tile, step, depth 2 t or 2 t + 1 */

    __device__ void load(const float *from_x, const float *from_w, int w_pitch, int g, int t) {
#pragma unroll
        for (int m = 0; m < L::MT; m++)
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int r = 0; r < 2; r++)
                    x[m][h][r] = *(const float2 *)(from_x + (16 * m + 8 * r + g) * L::x_pitch + 8 * h + 2 * t);
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < L::N; n++) {
                if constexpr (L::trans) {
                    const float2 v = *(const float2 *)(from_w + (8 * n + g) * L::w_pitch + 8 * h + 2 * t);
                    w[n][h][0] = v.x, w[n][h][1] = v.y;
                } else {
                    const float *v = from_w + (8 * h + 2 * t) * w_pitch + 8 * n + g;
                    w[n][h][0] = v[0], w[n][h][1] = v[w_pitch];
                }
            }
    }

    __device__ void multiply(linear_sums<L> &to) const {
        tf32_parts b[L::N][2][2];
#pragma unroll
        for (int n = 0; n < L::N; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) b[n][h][0] = split_tf32(w[n][h][0]), b[n][h][1] = split_tf32(w[n][h][1]);
#pragma unroll
        for (int m = 0; m < L::MT; m++) {
            unsigned hi[2][4], lo[2][4];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float v[4] = {x[m][h][0].x, x[m][h][1].x, x[m][h][0].y, x[m][h][1].y};
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const tf32_parts both = split_tf32(v[e]);
                    hi[h][e] = both.hi, lo[h][e] = both.lo;
                }
            }
            float d[L::N][4] = {};
#pragma unroll
            for (int h = 0; h < 2; h++) {
#pragma unroll
                for (int n = 0; n < L::N; n++) mma_m16n8k8_tf32(d[n], hi[h], b[n][h][0].hi, b[n][h][1].hi);
#pragma unroll
                for (int n = 0; n < L::N; n++) mma_m16n8k8_tf32(to.lo[0][m][n], lo[h], b[n][h][0].hi, b[n][h][1].hi);
#pragma unroll
                for (int n = 0; n < L::N; n++) mma_m16n8k8_tf32(to.lo[1][m][n], hi[h], b[n][h][0].lo, b[n][h][1].lo);
            }
#pragma unroll
            for (int n = 0; n < L::N; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) to.hi[m][n][e] += d[n][e];
        }
    }
};

}  // namespace ridge

#endif
