/* Fragments of the products of few rows (gemv/tensor.cuh, gemv/outer.cuh) and what mma.sync makes of them: of 16 bits;
 * of 16 bits widened to tf32, which is exact; of fp32 as tf32; of fp32 in hi and lo parts (tile/split.cuh).
 *
 * Parts have short chains, since the tensor cores truncate as they add: steps of 8, the small products first, are added
 * in fp32. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_MMA_CUH
#define RIDGE_KERNELS_CUDA_GEMV_MMA_CUH

#include "cuda/gemv/pack.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/split.cuh"

extern "C" {
#include "cuda/gemv/plan.h"
}

namespace ridge {

/* An element of x in shared memory. One operand is rounded to tf32; the tensor cores truncate the other. */
template <typename T, gemv_product By>
using gemv_mma_x = std::conditional_t<By == GEMV_MMA_16, T, float>;
template <gemv_product By, typename X>
__device__ inline X gemv_mma_rounded(X v) {
    if constexpr (By == GEMV_MMA_WIDENED || By == GEMV_MMA_TF32)
        return cvt_rna_tf32(v);
    else
        return v;
}

/* Pairs of lines of one output: of the low or the high halves of two words. */
__device__ inline unsigned gemv_low(unsigned a, unsigned b) { return __byte_perm(a, b, 0x5410); }
__device__ inline unsigned gemv_high(unsigned a, unsigned b) { return __byte_perm(a, b, 0x7632); }

/* Outputs 2 j and 2 j + 1 of four lines; of fp32, of lines 2 s and 2 s + 1. */
template <gemv_product By, typename T, int V>
__device__ inline void gemv_mma_lines(unsigned (&w)[4], const gemv_pack<T, V> (&of)[4], int s, int j) {
    if constexpr (By == GEMV_MMA_16) {
        w[0] = gemv_low(of[0].word[j], of[1].word[j]), w[1] = gemv_high(of[0].word[j], of[1].word[j]);
        w[2] = gemv_low(of[2].word[j], of[3].word[j]), w[3] = gemv_high(of[2].word[j], of[3].word[j]);
    } else {
        of[2 * s].unpack_two(j, w[0], w[1]);
        of[2 * s + 1].unpack_two(j, w[2], w[3]);
    }
}
/* Two words of x's steps, from that pair of words on, of two outputs' packs: 2 j and 2 j + 1 of 16 bits. */
template <gemv_product By, typename T, int V>
__device__ inline void gemv_mma_outputs(unsigned (&w)[2][4], const gemv_pack<T, V> (&of)[2], int pair) {
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
        for (int m = 0; m < 2; m++) {
            if constexpr (By == GEMV_MMA_16)
                w[s][m] = of[m].word[2 * (pair + s)], w[s][2 + m] = of[m].word[2 * (pair + s) + 1];
            else
                of[m].unpack_two(pair + s, w[s][m], w[s][2 + m]);
        }
}

/* sums[n] += w x for N tiles of eight columns of b, S instructions of the depth. */
template <gemv_product By, typename T, int N, int S>
__device__ inline void gemv_mma(float (&sums)[N][4], const unsigned (&w)[S][4], const unsigned (&x)[N][2 * S]) {
    if constexpr (By == GEMV_MMA_16) {
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int n = 0; n < N; n++) mma_m16n8k16(T(), sums[n], w[s], x[n][2 * s], x[n][2 * s + 1]);
    } else if constexpr (By != GEMV_MMA_SPLIT) {
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int n = 0; n < N; n++) mma_m16n8k8_tf32(sums[n], w[s], x[n][2 * s], x[n][2 * s + 1]);
    } else {
        const auto parts = [](unsigned word) { return split_tf32(__uint_as_float(word)); };
#pragma unroll
        for (int s = 0; s < S; s++) {
            unsigned hi[4], lo[4];
#pragma unroll
            for (int e = 0; e < 4; e++) hi[e] = parts(w[s][e]).hi, lo[e] = parts(w[s][e]).lo;
#pragma unroll
            for (int first = 0; first < N; first += 2) { /* two chains: registers do not suffice for more */
                float d[2][4] = {};
#pragma unroll
                for (int product = 0; product < 3; product++)
#pragma unroll
                    for (int n = 0; n < 2; n++) {
                        const tf32_parts a = parts(x[first + n][2 * s]), b = parts(x[first + n][2 * s + 1]);
                        mma_m16n8k8_tf32(d[n], product == 0 ? lo : hi, product == 1 ? a.lo : a.hi,
                                         product == 1 ? b.lo : b.hi);
                    }
#pragma unroll
                for (int n = 0; n < 2; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++) sums[first + n][e] += d[n][e];
            }
        }
    }
}

}  // namespace ridge

#endif
