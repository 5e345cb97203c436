/* fp32 multiply-adds: a thread's part of a tile of C[m, n] = sum over k of A[m, k] B[n, k], from slices in shared
 * memory; and chains straight from memory, for sums that the tensor cores cannot make. No sum is a chain of more than
 * ANY_CHAIN products: chains are added to the sum of those before. */
#ifndef RIDGE_KERNELS_CUDA_MMA_FFMA_CUH
#define RIDGE_KERNELS_CUDA_MMA_FFMA_CUH

#include <stdint.h>

#include "cuda/tile/pack.cuh"

namespace ridge {

constexpr int ANY_CHAIN = 128, ANY_THREADS = 256;

/* Lanes of a warp lie LaneRows x (32 / LaneRows), and interleaved so that any two neighbours share what they read. */
template <int Side, int Slice, int Rows, int Columns, int LaneRows, int Ahead, int Blocks, bool Apart>
struct any_shape {
    static constexpr int side = Side, slice = Slice, rows = Rows, columns = Columns, lane_rows = LaneRows;
    static constexpr int ahead = Ahead;                                              /* slices in flight to registers */
    static constexpr int blocks = Blocks;                                            /* an SM */
    static constexpr int group = 2 * Side, groups = ANY_THREADS / group;             /* threads; their groups */
    static constexpr int buffers = group == 32 ? 1 : 2;                              /* of slices in shared memory */
    static constexpr int pitch = Side + 4, panel = Slice * pitch, packs = Slice / 8; /* packs of 4: a thread's */
    static constexpr int lane_columns = 32 / LaneRows, width = Columns < 4 ? Columns : 4;
    static constexpr int across = Side / (lane_columns * Columns); /* warps beside each other */
    static constexpr int row_leap = 4 * LaneRows, column_leap = width * lane_columns;
    static constexpr bool apart = Apart; /* sums of chains are in shared memory: registers for two blocks */
    static constexpr int slices = groups * buffers * 2 * panel, sums = groups > 1 ? groups *Side *Side : 0;
    static constexpr int floats = apart ? slices + Side * Side : sums > slices ? sums : slices;

    static_assert(Rows % 4 == 0 && (Columns == 2 || Columns % 4 == 0) && Rows * Columns * group == Side * Side);
    static_assert(across * lane_columns * Columns == Side && Slice % 8 == 0 && ANY_CHAIN % Slice == 0);
    static_assert(!apart || (groups == 1 && Columns % 4 == 0));
};
using any_large = any_shape<128, 16, 8, 8, 4, 1, 2, true>;
using any_medium = any_shape<64, 16, 8, 4, 2, 1, 2, false>;
using any_small = any_shape<16, 32, 4, 2, 4, 2, 2, false>;

/* A thread's sums over the slices of its group. */
template <class S>
struct any_sums {
    __align__(16) float chain[S::rows][S::columns];
    float sum[S::apart ? 1 : S::rows][S::columns]; /* of chains that have ended */

    /* Of (0, 0), in the tile; thread: of the group. */
    __device__ static int row(unsigned thread) {
        const unsigned lane = thread % 32, warp = thread / 32;
        const unsigned down = S::lane_rows == 4 ? lane / 16 * 2 + lane % 2 : lane % 2;
        return (int)(warp / S::across * S::lane_rows * S::rows + down * 4);
    }
    __device__ static int column(unsigned thread) {
        const unsigned lane = thread % 32, warp = thread / 32;
        const unsigned along = S::lane_rows == 4 ? lane / 2 % 8 : lane / 2;
        return (int)(warp % S::across * S::lane_columns * S::columns + along * S::width);
    }
    /* Steps From … To - 1 of a slice; a, b: the thread's row and column of it. */
    template <int From, int To>
    __device__ void multiply(const float *a, const float *b) {
#pragma unroll
        for (int s = From; s < To; s++) {
            __align__(16) float x[S::rows], y[S::columns];
#pragma unroll
            for (int i = 0; i < S::rows; i += 4)
                *(float4 *)&x[i] = *(const float4 *)&a[s * S::pitch + i / 4 * S::row_leap];
#pragma unroll
            for (int j = 0; j < S::columns; j += S::width)
                *(pack<float, S::width> *)&y[j] =
                    *(const pack<float, S::width> *)&b[s * S::pitch + j / 4 * S::column_leap];
#pragma unroll
            for (int i = 0; i < S::rows; i++)
#pragma unroll
                for (int j = 0; j < S::columns; j++) chain[i][j] = fmaf(x[i], y[j], chain[i][j]);
        }
    }
    /* Late: until then the registers are free for addresses. */
    __device__ void clear(void) {
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) {
                chain[i][j] = 0.0f;
                if constexpr (!S::apart) sum[i][j] = 0.0f;
            }
    }
    __device__ static float4 *apart(float *room, unsigned thread) { return (float4 *)(room + S::slices) + thread; }
    /* chain becomes the sum of all so far; any: chains have ended. */
    __device__ void add_up(bool any, float *room, unsigned thread) {
        if (!any) return;
#pragma unroll
        for (int i = 0; i < S::rows; i++) {
            if constexpr (!S::apart) {
#pragma unroll
                for (int j = 0; j < S::columns; j++) chain[i][j] += sum[i][j];
            } else {
#pragma unroll
                for (int j = 0; j < S::columns; j += 4) {
                    const float4 before = apart(room, thread)[(i * S::columns + j) / 4 * ANY_THREADS];
                    chain[i][j] += before.x, chain[i][j + 1] += before.y;
                    chain[i][j + 2] += before.z, chain[i][j + 3] += before.w;
                }
            }
        }
    }
    __device__ void end_chain(bool any, float *room, unsigned thread) {
        add_up(any, room, thread);
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) {
                if constexpr (!S::apart)
                    sum[i][j] = chain[i][j];
                else if (j % 4 == 0)
                    apart(room, thread)[(i * S::columns + j) / 4 * ANY_THREADS] = *(const float4 *)&chain[i][j];
            }
#pragma unroll
        for (int i = 0; i < S::rows; i++)
#pragma unroll
            for (int j = 0; j < S::columns; j++) chain[i][j] = 0.0f;
    }
};

}  // namespace ridge

#endif
