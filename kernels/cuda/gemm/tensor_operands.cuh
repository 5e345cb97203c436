/* Operands of tensor_matmul.cuh in 16 bits: slices of 64 of K, in boxes of 128-byte lines under the 128-byte swizzle. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_OPERANDS_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_OPERANDS_CUH

#include "cuda/gemm/tensor_matmul.cuh"
#include "cuda/mma/sm100.cuh"

namespace ridge {

/* KA, KB: lines of the operand run along K, else along M or N. */
template <typename T_, bool KA_, bool KB_>
struct tensor_operands {
    using T = T_;
    static constexpr bool KA = KA_, KB = KB_;
    static constexpr int K = 64;
    static constexpr int chunk = K * 128; /* of an operand that is not K-major: to its next 64 rows or columns */
    template <int Rows, int Columns, int N>
    struct part {
        static constexpr int b = Rows * K * 2, bytes = b + Columns * K * 2, tensor_columns = 0;
    };

    CUtensorMap a, b;

    /* `Extent` rows of A or columns of B from `first` on. */
    template <class S, int Extent, bool KMajor>
    static __device__ void load_one(uint32_t to, const CUtensorMap *map, uint32_t full, int first, int k) {
        static_assert(KMajor || Extent % 64 == 0, "whole chunks");
        for (int at = 0; at < (KMajor ? 1 : Extent / 64); at++)
            tensor_box<S>(to + (uint32_t)(at * chunk), map, full, KMajor ? k : first + at * 64, KMajor ? first : k);
    }
    template <class S>
    __device__ void load(uint32_t to, uint32_t full, int m, int n, int slice, int rank) const {
        load_one<S, S::rows, KA>(to, &a, full, m + rank * S::rows, slice * K);
        load_one<S, S::columns, KB>(to + S::part::b, &b, full, n + rank * S::columns, slice * K);
    }
    template <class S>
    static __device__ void multiply(uint32_t stage, uint32_t sums, uint32_t, int, bool first) {
        constexpr uint32_t instruction = tcgen05_instruction_f16<T, S::M, S::N, KA, KB>();
        const uint64_t of_a = tcgen05_descriptor(stage, KA ? 0 : chunk);
        const uint64_t of_b = tcgen05_descriptor(stage + S::part::b, KB ? 0 : chunk);
        for (int i = 0; i < K / 16; i++)
            tcgen05_mma_f16<S::blocks>(sums, of_a + i * tcgen05_step<KA>, of_b + i * tcgen05_step<KB>, instruction,
                                       !first || i > 0);
    }
};

}  // namespace ridge

#endif
