/* Rows of any alignment in aligned pieces of 16 bytes: what a lane takes of one begins between two pieces. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_ROW_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_ROW_CUH

#include "cuda/tile/pack.cuh"

namespace ridge {

/* 16 of 32 bytes, from `bytes` on: below 16, whole elements. */
__device__ inline uint4 thin_shifted(uint4 low, uint4 high, unsigned bytes) {
    const unsigned a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    unsigned b[6], c[5], out[4];
#pragma unroll
    for (int j = 0; j < 6; j++) b[j] = bytes & 8 ? a[j + 2] : a[j];
#pragma unroll
    for (int j = 0; j < 5; j++) c[j] = bytes & 4 ? b[j + 1] : b[j];
#pragma unroll
    for (int j = 0; j < 4; j++) out[j] = __funnelshift_r(c[j], c[j + 1], bytes % 4 * 8);
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/* The memory that rows lie in. Whether aligned pieces beside some rows may leave it (edge). */
struct thin_span {
    const char *lowest, *highest;
    bool edge;

    template <typename T>
    __device__ thin_span(const T *x, int64_t line, int64_t rows, int depth, int64_t first, int64_t last)
        : lowest((const char *)x),
          highest((const char *)(x + (rows - 1) * line + depth)),
          edge((const char *)(x + first * line) - 16 < lowest ||
               (const char *)(x + last * line + depth) + 32 > highest) {}
    __device__ bool has(const char *p) const { return !edge || (p >= lowest && p + 16 <= highest); }
};

/* Its first n of 16 bytes' elements, zeros behind them. */
template <typename T>
__device__ inline uint4 thin_masked(const uint4 &v, int n) {
    constexpr int of_word = 4 / (int)sizeof(T);
    const auto word = [&](unsigned w, int j) {
        const int left = n - j * of_word;
        return left <= 0 ? 0u : sizeof(T) == 2 && left == 1 ? w & 0xffffu : w;
    };
    return make_uint4(word(v.x, 0), word(v.y, 1), word(v.z, 2), word(v.w, 3));
}

/* A row, of which a lane takes 16 bytes from element k on. Pieces may have elements of its neighbours in memory: these
 * are behind the row's end, and become zeros, or are shifted out. */
template <typename T>
struct thin_row {
    static constexpr int W = pack_width<T>;
    const T *row;
    int depth; /* 0: there is no such row */

    __device__ unsigned shift(void) const { return (unsigned)(uintptr_t)row % 16; }
    __device__ const char *piece(int k) const { return (const char *)(row + k) - shift(); }
    __device__ const char *end(void) const { return (const char *)(row + depth); }
    /* A piece; zeros where it has nothing of the row, or is not all of the span. */
    __device__ uint4 read(const char *p, const thin_span &s) const {
        return p < end() && s.has(p) ? __ldg((const uint4 *)p) : make_uint4(0, 0, 0, 0);
    }
    __device__ uint4 low(int k, const thin_span &s) const { return read(piece(k), s); }
    __device__ uint4 high(int k, const thin_span &s) const {
        return shift() ? read(piece(k) + 16, s) : make_uint4(0, 0, 0, 0);
    }
    __device__ bool is_cut(int k, const thin_span &s) const {
        const char *p = piece(k);
        return k < depth && (!s.has(p) || (shift() && p + 16 < end() && !s.has(p + 16)));
    }
    __device__ uint4 one_by_one(int k) const {
        pack<T, W> v;
#pragma unroll
        for (int i = 0; i < W; i++) v.v[i] = k + i < depth ? row[k + i] : from_float<T>(0.0f);
        return words_of(v);
    }
    __device__ uint4 whole(const uint4 &first, const uint4 &second, int k, const thin_span &s) const {
        if (s.edge && is_cut(k, s)) return one_by_one(k);
        const uint4 v = thin_shifted(first, second, shift());
        return k + W <= depth ? v : thin_masked<T>(v, depth - k);
    }
};

}  // namespace ridge

#endif
