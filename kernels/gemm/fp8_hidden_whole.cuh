/* The hidden values of fp8_hidden.cuh where x and w1 have one scale each: sums stay in the tensor cores to the end of K, which leaves
 * registers for 256 columns, 128 of g and the same 128 of u. A block then has all hidden values that share a scale, and a thread's
 * quad all of a row: maxima go through two shuffles. */
#ifndef RIDGE_GEMM_FP8_HIDDEN_WHOLE_CUH
#define RIDGE_GEMM_FP8_HIDDEN_WHOLE_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/tile/quad.cuh"
#include "gemm/fp8.cuh"
#include "gemm/fp8_hidden_codes.cuh"

namespace ridge {

constexpr matmul_tuning FP8_HIDDEN_WHOLE = {
    .columns = 256, .stages = 4, .cluster_m = 1, .cluster_n = 1, .paired = true};

template <class S>
struct fp8_hidden_whole_epilogue {
    static_assert(S::paired && S::columns == FP8_BLOCK && S::cluster == 1,
                  "a block has the columns that share a scale");
    const float *a, *b; /* the scale of x, and that of w1 */
    hidden_codes to;
    static constexpr int scratch = 0, half = S::sums / 2;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    /* Codes of 64 of the thread's row: the quad gathers them, 16 neighbours in each lane. */
    template <int Which>
    __device__ static uint4 codes_of(const float (&hidden)[half], int first, float by) {
        unsigned words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *v = &hidden[first / 2 + 8 * i + 2 * Which];
            words[i] = fp8_pair<RIDGE_E4M3>(v[0] * by, v[1] * by) | fp8_pair<RIDGE_E4M3>(v[4] * by, v[5] * by) << 16;
        }
        quad_transpose(words);
        return make_uint4(__byte_perm(words[0], words[1], 0x5410), __byte_perm(words[2], words[3], 0x5410),
                          __byte_perm(words[0], words[1], 0x7632), __byte_perm(words[2], words[3], 0x7632));
    }
    /* One of the thread's rows. */
    template <int Which>
    __device__ void put(const float (&hidden)[half], int row, int column) const {
        unsigned max = 0;
#pragma unroll
        for (int j = 0; j < half; j++)
            if (j % 4 / 2 == Which) max = umax(max, __float_as_uint(hidden[j]) & hidden_slot::MAGNITUDE);
        max = umax(max, __shfl_xor_sync(0xffffffffu, max, 1));
        max = umax(max, __shfl_xor_sync(0xffffffffu, max, 2));
        const bool odd = max >= 0x7f800000u;
        const float top = __uint_as_float(odd ? hidden_slot::MAGNITUDE : max), by = rule_fp8_factor(top);
        const int lane = (int)threadIdx.x % 4;
#pragma unroll
        for (int first = 0; first < FP8_BLOCK; first += 64) {
            const uint4 codes = codes_of<Which>(hidden, first, by);
            if (row < to.rows)
                *(uint4 *)(to.codes + row * to.line + column + first + 16 * lane) = odd ? uint4() : codes;
        }
        if (row < to.rows && lane == 0)
            to.scales[row * to.scales_line + column / FP8_BLOCK] = odd ? top : rule_fp8_scale(top);
    }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[S::sums], uint32_t,
                           int group) const {
        const float scale = *a * *b;
        const int row = tile.m + fragment_row(group);
        float hidden[half];
#pragma unroll
        for (int j = 0; j < half; j++) hidden[j] = silu(sums[j] * scale) * (sums[half + j] * scale);
        put<0>(hidden, row, tile.n);
        put<1>(hidden, row + 8, tile.n);
    }
    __device__ void end(void) const {}
};

/* As fp8_hidden(), of scales of whole tensors. */
inline ridge_status fp8_hidden_whole(const matrix_view &x, const fp8_scales &of_x, const matrix_view &w1,
                                     const fp8_scales &of_w1, const matrix_view &codes, const matrix_view &scales,
                                     cudaStream_t stream) {
    using S = matmul_shape<e4m3, FP8_HIDDEN_WHOLE>;
    fp8_hidden_whole_epilogue<S> e = {};
    e.a = of_x.data, e.b = of_w1.data;
    e.to = {(int)codes.rows, (unsigned char *)codes.base, codes.line, (float *)scales.base, scales.line};
    matmul_plan plan = matmul_whole(x.columns, S::K, 8, true, true);
    plan.pair = (int)codes.columns;
    return matmul_run<S>(lines_of(x), lines_of(w1), codes.rows, codes.columns, plan, e, stream);
}

}  // namespace ridge

#endif
