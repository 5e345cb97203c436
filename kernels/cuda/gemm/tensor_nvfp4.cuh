/* Operands of tensor_matmul.cuh in NVFP4 (quantize/blocks.h): slices of 256 of K, 128 bytes of codes a line under the 128-byte
 * swizzle, and the scales of each 64 of K in tiles of 512 bytes. A stage has
 *
 *   codes of A, codes of B            the block's rows and columns, two codes a byte
 *   scales of A                       four tiles of 128 rows, one for each 64 of K
 *   scales of B                       the same of every 128 columns that the tile of C meets, also in each block of a pair
 *
 * A slice's scales are copied to tensor memory in front of its products, by the thread that starts these: products follow
 * copies in order, and copies follow the products before. PTX lists the first pair alone; CUTLASS relies on both.
 *
 * A tile of C whose columns begin in the middle of a tile of scales has those of two of them, and reads from their 64th row on,
 * two columns of tensor memory further. TMA reads zeros beyond the matrices. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_CUH

#include "cuda/gemm/tensor_matmul.cuh"
#include "cuda/mma/sm100.cuh"

namespace ridge {

struct tensor_nvfp4 {
    static constexpr int K = 256, line = K / 2;         /* of a slice: elements, bytes of a row's codes */
    static constexpr int step = 64, steps = K / step;   /* of a product */
    static constexpr int tile_rows = 128, tile = 512;   /* of scales: rows, bytes */
    static constexpr int tile_columns = tile_rows / 32; /* of tensor memory that a tile of scales takes */
    static constexpr int row_of_tiles = steps * tile;   /* bytes of a slice */

    /* Where what lies in a stage; tiles of B's scales. */
    template <int Rows, int Columns, int N>
    struct part {
        static constexpr int b_tiles = N / tile_rows + (N % tile_rows > 0);
        static constexpr int b = Rows * line, a_scales = b + Columns * line, b_scales = a_scales + row_of_tiles;
        static constexpr int bytes = b_scales + b_tiles * row_of_tiles;
        static constexpr int tensor_columns = steps * (1 + b_tiles) * tile_columns;
        static_assert(Rows == tile_rows && Columns % 8 == 0 && N % 64 == 0, "whole groups of the swizzle");
    };

    CUtensorMap a, b, a_scales, b_scales;

    /* Coordinates are bytes of codes, and eight bytes of scales. */
    template <class S>
    __device__ void load(uint32_t to, uint32_t full, int m, int n, int slice, int rank) const {
        using P = typename S::part;
        const int m_here = m + rank * S::rows;
        tensor_box<S>(to, &a, full, slice * line, m_here);
        tensor_box<S>(to + P::b, &b, full, slice * line, n + rank * S::columns);
        tensor_box<S>(to + P::a_scales, &a_scales, full, slice * (row_of_tiles / 8), m_here / tile_rows);
        tensor_box<S>(to + P::b_scales, &b_scales, full, slice * (row_of_tiles / 8), n / tile_rows);
    }

    /* The slice's scales to tensor memory, those of a step side by side: A's, then B's. */
    template <class S>
    static __device__ void copy_scales(uint32_t stage, uint32_t to) {
        using P = typename S::part;
        for (int i = 0; i < steps; i++) {
            tcgen05_cp_scales<S::blocks>(to + (uint32_t)(i * tile_columns),
                                         tcgen05_scales(stage + (uint32_t)(P::a_scales + i * tile)));
            for (int t = 0; t < P::b_tiles; t++)
                tcgen05_cp_scales<S::blocks>(
                    to + (uint32_t)((steps + i * P::b_tiles + t) * tile_columns),
                    tcgen05_scales(stage + (uint32_t)(P::b_scales + t * row_of_tiles + i * tile)));
        }
    }
    template <class S>
    static __device__ void multiply(uint32_t stage, uint32_t sums, uint32_t of_scales, int n, bool first) {
        using P = typename S::part;
        constexpr uint32_t instruction = tcgen05_instruction_nvfp4<S::M, S::N>();
        const uint64_t of_a = tcgen05_descriptor(stage, 0), of_b = tcgen05_descriptor(stage + P::b, 0);
        const uint32_t b_first = of_scales + (uint32_t)(steps * tile_columns + n % tile_rows / 32);
        copy_scales<S>(stage, of_scales);
        for (int i = 0; i < steps; i++)
            tcgen05_mma_nvfp4<S::blocks>(sums, of_a + i * tcgen05_step_nvfp4, of_b + i * tcgen05_step_nvfp4,
                                         instruction, of_scales + (uint32_t)(i * tile_columns),
                                         b_first + (uint32_t)(i * P::b_tiles * tile_columns), !first || i > 0);
    }
};

}  // namespace ridge

#endif
