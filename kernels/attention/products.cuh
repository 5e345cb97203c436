/* What attention's kernels for Hopper are made of: lines of a head into shared memory, and the two forms of product with
 * them. Operands lie as TMA leaves boxes of 128 bytes of columns: chunks of all lines. */
#ifndef RIDGE_ATTENTION_PRODUCTS_CUH
#define RIDGE_ATTENTION_PRODUCTS_CUH

#include <cuda.h>

#include "cuda/mma/sm90.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/tile/fragment.cuh"

namespace ridge {

/* Lines [line, line + Lines) of a head: boxes of `Box` columns, 128 bytes. More: bytes that the barrier also waits for. */
template <int Lines, int Columns, int More = 0, int Box = 64>
__device__ inline void load_lines(uint32_t to, const CUtensorMap *map, uint32_t barrier, int line, int head,
                                  int batch) {
    mbarrier_arrive_expect_tx(barrier, Lines * Columns / Box * 128 + More);
#pragma unroll
    for (int c = 0; c < Columns / Box; c++)
        cp_async_bulk_tensor_4d(to + (uint32_t)(c * Lines * 128), map, barrier, c * Box, line, head, batch);
}

/* A value that all lanes of a warp have: the compiler sees that. Descriptors of a step whose number is one take a uniform
 * instruction between two products, those of a number of each thread took seven. */
__device__ inline int value_of_warp(int value) { return __shfl_sync(0xffffffffu, value, 0); }

/* A warpgroup's word to an mbarrier, by one of its threads. */
__device__ inline void release(uint32_t empty) {
    if (thread_of_warpgroup() == 0) mbarrier_arrive(empty);
}

/* scores = own lines^T: the warpgroup's 64 of the tile's S::M rows, and a step's S::N lines, both of Columns. */
template <class S, int Columns>
__device__ inline void multiply_lines(float (&scores)[S::scores], uint32_t own, uint32_t lines, int group) {
    const uint64_t left = wgmma_descriptor(own + (uint32_t)(group * 64 * 128), 0), right = wgmma_descriptor(lines, 0);
#pragma unroll
    for (int i = 0; i < Columns * (int)sizeof(typename S::T) / 32; i++) {
        const int chunk = i / 4, slice = i % 4 * wgmma_step<true>;
        wgmma<typename S::T, S::N, true, true>(scores, left + (uint64_t)(chunk * (S::M * 128 >> 4) + slice),
                                               right + (uint64_t)(chunk * (S::N * 128 >> 4) + slice), i > 0);
    }
    wgmma_commit_group();
}
/* sums (+)= p lines: p of 64 rows by S::N lines from registers, lines of Columns. */
template <class S, int Columns>
__device__ inline void multiply_by_lines(float (&sums)[Columns / 2], const unsigned (&p)[S::N / 16][4], uint32_t lines,
                                         int accumulate) {
    const uint64_t right = wgmma_descriptor(lines, S::N * 128);
#pragma unroll
    for (int i = 0; i < S::N / 16; i++)
        wgmma_rs<typename S::T, Columns, false>(sums, p[i], right + (uint64_t)(i * wgmma_step<false>),
                                                i > 0 ? 1 : accumulate);
    wgmma_commit_group();
}

}  // namespace ridge

#endif
