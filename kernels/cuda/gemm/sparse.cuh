/* Products whose A is 2:4 sparse: of each four of K its lines have two, and codes say which (model/sparse_codes.h). A slice of
 * K is a line of 64 bytes of A and a line of 128 bytes of B; wgmma takes the elements of B that A's codes name, at twice the
 * rate.
 *
 * Codes come as they lie in memory, a row's words one after the other, from there to registers, 256 of K ahead: four slices
 * of 16 bits, two of 8. A lane loads two words of each of its two rows, and four lanes exchange them, since wgmma has the
 * codes of a step of K, of a row and of the row eight below it, in
 *
 *   16 bits   two lanes of four, 16 columns of both rows in each: a lane's register serves both steps of a slice
 *   8 bits    four lanes, a whole word of one of the rows in each: a register serves one step of the two */
#ifndef RIDGE_KERNELS_CUDA_GEMM_SPARSE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_SPARSE_CUH

#include "cuda/pipe/ring.cuh"
#include "cuda/tile/quad.cuh"
#include "model/sparse_codes.h"

namespace ridge {

/* Slices of 256 of K, whose codes four lanes exchange. */
template <class S>
constexpr int sparse_slices = 256 / S::K;

/* Codes of 256 of K: of a thread's two rows, a fourth each lane of four. */
struct sparse_words {
    unsigned low[2], high[2];
};

struct sparse_codes {
    const unsigned *low, *high; /* of the thread's rows */
    int words;                  /* of a row */

    /* What the thread loads of the 256 of K from column k on; beyond the end, of a pattern, for elements that are zero. */
    __device__ sparse_words ask(int k) const {
        const int first = k / PATTERN_COLUMNS + 2 * ((int)threadIdx.x % 4);
        sparse_words w;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const bool present = first + i < words;
            w.low[i] = present ? low[first + i] : (unsigned)PATTERN_FIRST_TWO;
            w.high[i] = present ? high[first + i] : (unsigned)PATTERN_FIRST_TWO;
        }
        return w;
    }
};

/* Whether the codes of the thread's rows were of a pattern, as far as this thread has seen. */
struct sparse_faults {
    unsigned low = 0, high = 0;
    __device__ void look(const sparse_words &w) {
        low |= pattern_wrong(w.low[0]) | pattern_wrong(w.low[1]);
        high |= pattern_wrong(w.high[0]) | pattern_wrong(w.high[1]);
    }
    /* As far as any of the four lanes of the rows has seen: a row whose codes are not of a pattern is NaN. */
    template <int Sums>
    __device__ void settle(float (&sums)[Sums]) {
        for (int lane = 1; lane < 4; lane *= 2) {
            low |= __shfl_xor_sync(0xffffffffu, low, lane);
            high |= __shfl_xor_sync(0xffffffffu, high, lane);
        }
        if (!__any_sync(0xffffffffu, low | high)) return;
#pragma unroll
        for (int i = 0; i < Sums; i++)
            if (i % 4 < 2 ? low : high) sums[i] = __int_as_float(0x7fffffff);
    }
};

/* From the codes of a fourth of K to what this lane has for each fourth: a transposition of 4 x 4. */
template <class S>
__device__ inline void sparse_spread(const sparse_words &w, unsigned (&of_fourth)[4]) {
    constexpr bool wide = sizeof(typename S::T) == 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        of_fourth[2 * i] = wide ? __byte_perm(w.low[i], w.high[i], 0x5410) : w.low[i];
        of_fourth[2 * i + 1] = wide ? __byte_perm(w.low[i], w.high[i], 0x7632) : w.high[i];
    }
    quad_transpose(of_fourth);
}

/* A stage's products: two steps of K. Codes of 16 bits: lanes 0 and 1 of four have those of the first step, 2 and 3 those of the
 * second. */
template <class S>
__device__ inline void multiply_sparse_stage(float (&sums)[S::sums], uint32_t a_stage, uint32_t b_stage, int group,
                                             const unsigned *codes, int accumulate) {
    using T = typename S::T;
    constexpr int second = sizeof(T) == 2 ? 1 : 0; /* pair of lanes */
    const uint64_t a = wgmma_descriptor_64B(a_stage + (uint32_t)(group * 64 * S::a_line));
    const uint64_t b = wgmma_descriptor(b_stage, S::K * 128);
    wgmma_fence();
    wgmma_sp<T, S::N, 0>(sums, a, b, codes[0], accumulate);
    wgmma_sp<T, S::N, second>(sums, a + wgmma_step<true>, b + 2 * wgmma_step<true>, codes[1 - second], 1);
    wgmma_commit_group();
}

/* All slices of a tile, in the tensor cores' registers. Products read their codes' registers as they go on, so those of 256 of K
 * take turns in two sets of them. */
template <class S>
__device__ inline void multiply_tile_sparse(float (&sums)[S::sums], const matmul_memory<S> &memory, ring<S::stages> &at,
                                            int slices, int group, int rank, const sparse_codes &codes) {
    constexpr int turn = sparse_slices<S>;
    sparse_faults faults;
    sparse_words asked = codes.ask(0);
    int before = 0;
    const auto multiply = [&](int first, unsigned(&words)[4]) {
        faults.look(asked);
        sparse_spread<S>(asked, words);
        if (first + turn < slices) asked = codes.ask((first + turn) * S::K);
#pragma unroll
        for (int i = 0; i < turn; i++) {
            const int k = first + i;
            if (k >= slices) return;
            mbarrier_wait_parity(memory.full(at.stage), at.phase);
            multiply_sparse_stage<S>(sums, memory.a(at.stage), memory.b(at.stage), group, words + i * (4 / turn),
                                     k > 0);
            wgmma_wait_group<1>();
            if (k > 0) release<S>(memory.empty(before), rank);
            before = at.stage;
            at.next();
        }
    };
    unsigned even[4], odd[4];
    for (int k = 0; k < slices; k += 2 * turn) {
        multiply(k, even);
        if (k + turn < slices) multiply(k + turn, odd);
    }
    wgmma_wait_group<0>();
    wgmma_settle(sums);
    release<S>(memory.empty(before), rank);
    faults.settle(sums);
}

}  // namespace ridge

#endif
