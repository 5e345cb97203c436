/* Products of e4m3 operands with scales, C = (sa A) (sb B)^T, in the pipeline of cuda/gemm/matmul.cuh: lines of 128 bytes are 128
 * of K, so a slice is what shares scales. Its sums leave the tensor cores after each slice and are added in fp32, times the
 * scales. Where tensors have one scale each and sums may be fast, they stay in the tensor cores to the end of K, and tiles have
 * twice the columns. */
#ifndef RIDGE_GEMM_FP8_CUH
#define RIDGE_GEMM_FP8_CUH

#include "cuda/maps/plain.cuh"
#include "gemm/gemm8.cuh"
#include "quantize/rule.h"

extern "C" {
#include "gemm/fp8.h"
}

namespace ridge {

/* A: [m, k], B: [n, k], C: [m, n], fp32 or bf16. */
struct fp8_product {
    matrix_view a, b, c;
    fp8_scales of_a, of_b;
    ridge_dtype dtype; /* of C */
};

struct fp8_scale {
    const float *data;
    int64_t rows, line, step;
    explicit fp8_scale(const fp8_scales &s) : data(s.data), rows(s.rows), line(s.line), step(s.step) {}
    fp8_scale() = default;
    __device__ unsigned of_row(int row) const { return (unsigned)(row / (int)rows * (int)line); }
    __device__ float at(int64_t row, int64_t slice) const { return data[row / rows * line + slice * step]; }
    __device__ float of(unsigned row, int slice) const { return data[row + (unsigned)(slice * (int)step)]; }
};

/* ---- tiles ---- */

#define RIDGE_TUNED(name, columns_, stages_, cluster_m_, cluster_n_, promote_, ...) \
    constexpr matmul_tuning FP8_##name = {.columns = columns_,                      \
                                          .stages = stages_,                        \
                                          .cluster_m = cluster_m_,                  \
                                          .cluster_n = cluster_n_,                  \
                                          .promote = promote_};
FP8_TILES(RIDGE_TUNED)
#undef RIDGE_TUNED

/* What epilogues of both kinds of tiles know of scales. */
template <class S>
struct fp8_epilogue : gemm8_epilogue<S> {
    fp8_scale a, b;
    struct scales { /* of rows r and r + 8, and of the tile's columns; from its first slice on */
        unsigned low, high, right;
        int slice;
    };
    __device__ scales scales_of(const matmul_tile &tile, int row) const {
        const int last = this->rows - 1, share = this->share_of(tile), n = this->within(tile, share).n;
        return {a.of_row(min(row, last)), a.of_row(min(row + 8, last)), b.of_row(min(n, this->columns - 1)),
                share * this->slices};
    }
};

/* The tensor cores' sums of all of K, times the scales of whole tensors. */
template <class S>
struct fp8_fast_epilogue : fp8_epilogue<S> {
    using state = typename fp8_epilogue<S>::scales;
    __device__ state begin(const matmul_tile &tile, int group) const {
        return this->scales_of(tile, tile.m + fragment_row(group));
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[S::N / 2], uint32_t at,
                           int group) const {
        const float scale = this->a.of(s.low, 0) * this->b.of(s.right, 0);
#pragma unroll
        for (int j = 0; j < S::N / 2; j++) sums[j] *= scale;
        this->keep(tile, sums, at, group);
    }
};

/* Sums of slices, each times its scales. */
template <class S>
struct fp8_promoted_epilogue : fp8_epilogue<S> {
    static_assert(S::K == FP8_BLOCK && FP8_BLOCK % S::N == 0, "a tile and a slice have one scale of B in squares");
    struct factors {
        float low, high;
    };
    struct state {};
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ float3 load(const typename fp8_epilogue<S>::scales &s, int slice) const {
        const int k = min(s.slice + slice, this->last);
        return make_float3(this->a.of(s.low, k), this->a.of(s.high, k), this->b.of(s.right, k));
    }
    __device__ factors of(const float3 &v) const { return {v.x * v.z, v.y * v.z}; }
    __device__ void add(float (&total)[S::sums], const float (&sums)[S::sums], const factors &by) const {
#pragma unroll
        for (int j = 0; j < S::sums; j++) total[j] = fmaf(sums[j], j % 4 < 2 ? by.low : by.high, total[j]);
    }
    __device__ void finish(const matmul_tile &tile, const state &, float (&sums)[S::sums], uint32_t at,
                           int group) const {
        this->keep(tile, sums, at, group);
    }
};

/* ---- any operands: a thread an element ---- */

template <typename T>
struct fp8_element {
    matrix<const unsigned char> a, b;
    matrix<T> c;
    fp8_scale of_a, of_b;
    int64_t k;
    __device__ void operator()(int64_t i, int64_t j) const {
        float total = 0.0f;
        for (int64_t first = 0; first < k; first += FP8_BLOCK) {
            float sum = 0.0f;
            const int64_t end = first + FP8_BLOCK < k ? first + FP8_BLOCK : k;
            for (int64_t d = first; d < end; d++)
                sum = fmaf(rule_value_e4m3(a.at(i, d)), rule_value_e4m3(b.at(j, d)), sum);
            const int64_t slice = first / FP8_BLOCK;
            total = fmaf(sum, of_a.at(i, slice) * of_b.at(j, slice), total);
        }
        c.at(i, j) = from_float<T>(total);
    }
};

template <typename T>
ridge_status fp8_by_elements(const ridge_call *call, const fp8_product &p) {
    const matrix<const unsigned char> a = {(const unsigned char *)p.a.base, p.a.line},
                                      b = {(const unsigned char *)p.b.base, p.b.line};
    return launch_plain(
        call, p.c.rows, p.c.columns,
        fp8_element<T>{a, b, {(T *)p.c.base, p.c.line}, fp8_scale(p.of_a), fp8_scale(p.of_b), p.a.columns});
}
inline ridge_status fp8_by_elements(const ridge_call *call, const fp8_product &p) {
    if (p.dtype == RIDGE_F32) return fp8_by_elements<float>(call, p);
    return p.dtype == RIDGE_BF16 ? fp8_by_elements<__nv_bfloat16>(call, p) : RIDGE_UNSUPPORTED;
}

/* By tiles of S, whose epilogue is one of the above or has their members. */
template <class S, class Epilogue>
ridge_status fp8_by(const fp8_product &p, Epilogue e, cudaStream_t stream, const gemm8_shares &shares = {}) {
    e.a = fp8_scale(p.of_a), e.b = fp8_scale(p.of_b);
    RIDGE_TRY(gemm8_run<S>(p.a, p.b, p.c, p.dtype, e, stream, shares));
    return shares.count < 2 ? RIDGE_OK : gemm8_add<float>(p.c, p.dtype, shares, gemm8_sum(), stream);
}
template <matmul_tuning Tuned>
ridge_status fp8_by_tiles(const fp8_product &p, cudaStream_t stream, const gemm8_shares &shares = {}) {
    using shape = matmul_shape<e4m3, Tuned>;
    using epilogue = std::conditional_t<Tuned.promote == 0, fp8_fast_epilogue<shape>, fp8_promoted_epilogue<shape>>;
    return fp8_by<shape>(p, epilogue{}, stream, shares);
}

}  // namespace ridge

#endif
