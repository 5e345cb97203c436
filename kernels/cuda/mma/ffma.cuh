/* fp32 multiply-adds: a thread's part of a tile of C[m, n] = sum over k of A[m, k] B[n, k], from slices in shared
 * memory; and chains straight from memory, for sums that the tensor cores cannot make. No sum is a chain of more than
 * ANY_CHAIN products: chains are added to the sum of those before. */
#ifndef RIDGE_KERNELS_CUDA_MMA_FFMA_CUH
#define RIDGE_KERNELS_CUDA_MMA_FFMA_CUH

#include <stdint.h>

#include "cuda/tile/pack.cuh"

namespace ridge {

constexpr int ANY_CHAIN = 128, ANY_THREADS = 256;

/* ---- straight from memory: sums again, as fp32 has them, where an operand is infinite ---- */

/* sum + x[k] w[k w_step] over k < count, one multiply-add after another. */
__device__ inline float ffma_chain(float sum, const float *x, const float *w, int64_t w_step, int count) {
#pragma unroll 1
    for (int k = 0; k < count; k++) sum = fmaf(x[k], w[k * w_step], sum);
    return sum;
}
/* Four steps at once. */
__device__ inline float ffma_chain(float sum, float4 x, float4 w) {
    return fmaf(x.w, w.w, fmaf(x.z, w.z, fmaf(x.y, w.y, fmaf(x.x, w.x, sum))));
}

/* ---- from slices in shared memory ---- */

/* How a tile is shared by a block's threads. Lanes are interleaved, so that neighbours share what they read. */
struct any_tuning {
    int side, slice;   /* of the tile; of the depth */
    int rows, columns; /* of a thread */
    int lane_rows;     /* a warp's lanes are lane_rows x (32 / lane_rows) */
    int ahead;         /* slices in flight to registers */
    int blocks;        /* of an SM */
    bool apart;        /* sums of chains are in shared memory: registers for two blocks */
};
template <any_tuning Tuned>
struct any_shape {
    static constexpr int side = Tuned.side, slice = Tuned.slice, rows = Tuned.rows, columns = Tuned.columns;
    static constexpr int lane_rows = Tuned.lane_rows, ahead = Tuned.ahead, blocks = Tuned.blocks;
    static constexpr bool apart = Tuned.apart;
    static constexpr int group = 2 * side, groups = ANY_THREADS / group;             /* threads; their groups */
    static constexpr int buffers = group == 32 ? 1 : 2;                              /* of slices in shared memory */
    static constexpr int pitch = side + 4, panel = slice * pitch, packs = slice / 8; /* packs of 4: a thread's */
    static constexpr int lane_columns = 32 / lane_rows, width = columns < 4 ? columns : 4;
    static constexpr int across = side / (lane_columns * columns); /* warps beside each other */
    static constexpr int row_leap = 4 * lane_rows, column_leap = width * lane_columns;
    static constexpr int slices = groups * buffers * 2 * panel, sums = groups > 1 ? groups *side *side : 0;
    static constexpr int floats = apart ? slices + side * side : sums > slices ? sums : slices;

    static_assert(rows % 4 == 0 && (columns == 2 || columns % 4 == 0) && rows * columns * group == side * side);
    static_assert(across * lane_columns * columns == side && slice % 8 == 0 && ANY_CHAIN % slice == 0);
    static_assert(!apart || (groups == 1 && columns % 4 == 0));
};
/* Tuned on an H200. */
constexpr any_tuning ANY_LARGE_TUNED = {
    .side = 128, .slice = 16, .rows = 8, .columns = 8, .lane_rows = 4, .ahead = 1, .blocks = 2, .apart = true};
constexpr any_tuning ANY_MEDIUM_TUNED = {
    .side = 64, .slice = 16, .rows = 8, .columns = 4, .lane_rows = 2, .ahead = 1, .blocks = 2, .apart = false};
constexpr any_tuning ANY_SMALL_TUNED = {
    .side = 16, .slice = 32, .rows = 4, .columns = 2, .lane_rows = 4, .ahead = 2, .blocks = 2, .apart = false};
using any_large = any_shape<ANY_LARGE_TUNED>;
using any_medium = any_shape<ANY_MEDIUM_TUNED>;
using any_small = any_shape<ANY_SMALL_TUNED>;

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
    /* Called late: until then the registers are free for addresses. */
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
