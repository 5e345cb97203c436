/* Sums + bias: logits in units of log 2, from where exp is exp2. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_BIAS_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_BIAS_CUH

#include "cuda/epilogue/softmax_part.cuh"
#include "cuda/epilogue/store.cuh"
#include "cuda/ptx/shared.cuh"

namespace ridge {

/* The tile's bias, loaded before its products; -inf beyond `columns`, so that those classes weigh nothing. Scaled: also
 * the factors that undo the scales of B's columns. */
template <typename T, int N, bool Scaled = false>
struct bias_ahead {
    static constexpr int bytes = 4 * N * (Scaled ? 2 : 1), count = (N + 127) / 128;
    float v[count], scale[Scaled ? count : 1], unit;

    /* Only loads: nothing here waits for them. */
    __device__ bias_ahead(const T *bias, int n, int columns, const float *undo = NULL, float unit_ = log2_e)
        : unit(unit_) {
#pragma unroll
        for (int i = 0; i < count; i++) {
            const int column = n + i * 128 + thread_of_warpgroup();
            v[i] = column < columns ? (bias ? to_float(bias[column]) : 0.0f) : -INFINITY;
            if constexpr (Scaled) scale[i] = column < columns ? undo[column] : 0.0f;
        }
    }
    /* sums becomes (sums + bias) / ln 2; `at`: `bytes` of shared memory. low, high: factors of the thread's two rows.
     */
    __device__ void add(float (&sums)[N / 2], uint32_t at, int group, float low = log2_e, float high = log2_e) const {
        warpgroup_sync(group); /* all threads have read what was there */
#pragma unroll
        for (int i = 0; i < count; i++) {
            if (N % 128 && i * 128 + thread_of_warpgroup() >= N) break;
            const uint32_t mine = at + 4 * (uint32_t)(i * 128 + thread_of_warpgroup());
            st_shared(mine, v[i] * unit);
            if constexpr (Scaled) st_shared(mine + 4 * N, scale[i]);
        }
        warpgroup_sync(group);
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const uint32_t mine = at + 4 * (uint32_t)(8 * j + fragment_column());
            const float2 b = ld_shared_v2(mine);
            float2 s = make_float2(1.0f, 1.0f);
            if constexpr (Scaled) s = ld_shared_v2(mine + 4 * N);
            sums[4 * j] = fmaf(sums[4 * j], s.x * low, b.x);
            sums[4 * j + 1] = fmaf(sums[4 * j + 1], s.y * low, b.y);
            sums[4 * j + 2] = fmaf(sums[4 * j + 2], s.x * high, b.x);
            sums[4 * j + 3] = fmaf(sums[4 * j + 3], s.y * high, b.y);
        }
    }
};

/* The sums themselves, fp32, and a bias of their columns (NULL: none); lines of an even number of elements. Split-K:
 * the sums of each share of K are `next` elements behind those of the one before, the bias is with the first. */
template <typename T, int N>
struct float_epilogue {
    float *c;
    int64_t stride;
    const T *bias;
    int rows, columns;
    int across = 0; /* 0, or columns of tiles of a share: of a cluster of blocks down the rows */
    int64_t next = 0;
    static constexpr int scratch = (4 * N + 1023) / 1024 * 1024;
    static bool waits(void) { return false; }
    struct state {
        bias_ahead<T, N> bias;
    };
    __device__ int share(const matmul_tile &tile) const { return across > 0 ? tile.n / N / across : 0; }
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int) const {
        const int s = share(tile);
        return {{s == 0 ? bias : NULL, tile.n - s * across * N, columns, NULL, 1.0f}};
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        const int part = share(tile);
        const matmul_tile here = {tile.m, tile.n - part * across * N, tile.part, tile.opens};
        s.bias.add(sums, at, group, 1.0f, 1.0f);
        store_pairs<N>(c + part * next, stride, rows, columns, here, sums, group);
    }
    __device__ void end(void) const {}
};

/* Logits in units of log 2; those beyond the classes are -inf. */
template <class Place>
__device__ inline void any_logits(float (&v)[Place::rows][Place::columns], const float *bias, const Place &place,
                                  int64_t classes) {
#pragma unroll
    for (int j = 0; j < Place::columns; j++) {
        const bool inside = place.column(j) < classes;
        const float b = inside ? bias[place.column(j)] : 0.0f;
#pragma unroll
        for (int i = 0; i < Place::rows; i++) v[i][j] = inside ? (v[i][j] + b) * log2_e : -INFINITY;
    }
}

}  // namespace ridge

#endif
