/* wgmma on the stages of a pipeline: a warpgroup's 64 rows of sums, plus the products of one slice of K of A and B. */
#ifndef RIDGE_KERNELS_CUDA_MMA_SM90_CUH
#define RIDGE_KERNELS_CUDA_MMA_SM90_CUH

#include <type_traits>

#include "cuda/ptx/wgmma.cuh"

namespace ridge {

/* Lines of an operand's tile that each of `peers` blocks loads: whole groups of eight, so the last block's may overlap
 * those before. */
constexpr int lines_of_peer(int lines, int peers) { return (lines / peers + 7) / 8 * 8; }

/* How a product is cut up. */
struct matmul_tuning {
    int columns;              /* of a block's tile */
    int stages;               /* of operands in shared memory */
    int cluster_m, cluster_n; /* blocks of a cluster, down and across */
    int promote = 0;          /* slices whose sum is added in fp32; 0: all are summed by the tensor cores */
    bool split = false;       /* operands of hi and lo parts */
    bool batched = false;     /* of several products of the same extents: matmul_plan.batch */
    bool grouped = false;     /* of several products that share rows out among them: matmul_plan.groups */
    bool paired = false; /* half of a tile's columns of B are those of the other half, matmul_plan.pair further on */
    bool eights = false; /* A's rows are those of two matrices, eight of each in turn: make_map_of_eights */
    bool sparse = false; /* A has two of each four elements of K: gemm/sparse.cuh */
    bool fp4 = false;    /* A is NVFP4: gemm/fp4.cuh */
};
/* Tile: M x N sums a block, K: 128 bytes. KMajorA, KMajorB: whether K runs along the lines of A and B in memory. */
template <typename Type, matmul_tuning Tuned, bool KMajorA = true, bool KMajorB = true>
struct matmul_shape {
    using T = Type;
    using Sum = wgmma_sum<T>;
    static constexpr int M = 128, N = Tuned.columns, K = 128 / (int)sizeof(T), stages = Tuned.stages;
    static constexpr int CM = Tuned.cluster_m, CN = Tuned.cluster_n, cluster = CM * CN;
    static constexpr bool KA = KMajorA, KB = KMajorB;
    static constexpr int promote = Tuned.promote, parts = Tuned.split ? 2 : 1;
    static constexpr bool batched = Tuned.batched, grouped = Tuned.grouped, paired = Tuned.paired;
    static constexpr int halves = paired ? 2 : 1, columns = N / halves; /* of C that a tile has */
    static constexpr bool eights = Tuned.eights, sparse = Tuned.sparse, fp4 = Tuned.fp4;
    using A = std::conditional_t<fp4, uint8_t, T>; /* as A's map counts elements */
    static constexpr int a_line = fp4 ? 32 : sparse ? 64 : 128, a_share = fp4 || sparse ? 2 : 1; /* of K, to one of A */
    static constexpr int scale_bytes = fp4 ? 512 : 0, scale_room = fp4 ? 1024 : 0;
    static constexpr int a_bytes = M * a_line, b_bytes = N * 128,
                         stage_bytes = parts * (a_bytes + b_bytes) + scale_room;
    static constexpr int groups = 2, threads = 128 * (groups + 1), sums = N / 2;
    static constexpr int line = K; /* 128 bytes, along K or not */
    /* Boxes of the tensor maps are lines of 128 bytes. */
    static constexpr int a_box = lines_of_peer(KA ? M : K, CN), b_box = lines_of_peer(KB ? columns : K, CM);
    static constexpr int a_lines = KA ? a_box * CN : M, b_lines = KB ? halves * b_box * CM : N;
    static constexpr int arriving_bytes = parts * (a_line * a_lines + 128 * b_lines) + scale_bytes;
    static_assert(a_share == 1 || (KA && KB && parts == 1 && promote == 0), "such an A is K-major, B too");
    static_assert(!eights || (KA && CN == 1 && parts == 1 && !batched && !grouped), "a box of eights is a block's own");
    static_assert(b_box <= 256 && columns % 8 == 0 && (KB || columns % line == 0), "boxes and operands");
};

/* a_stage, b_stage: the stage's operands in shared memory. */
template <class S>
__device__ inline void multiply_stage(typename S::Sum (&sums)[S::sums], uint32_t a_stage, uint32_t b_stage, int group,
                                      int accumulate) {
    /* The rows of a group: 64 lines, or the 64 elements of one chunk. */
    const uint64_t a = wgmma_descriptor(a_stage + (uint32_t)(group * 64 * 128), S::K * 128);
    const uint64_t b = wgmma_descriptor(b_stage, S::K * 128);
    const auto product = [&](uint64_t left, uint64_t right, int first) {
#pragma unroll
        for (int s = 0; s < 4; s++)
            wgmma<typename S::T, S::N, S::KA, S::KB>(sums, left + s * wgmma_step<S::KA>, right + s * wgmma_step<S::KB>,
                                                     s > 0 ? 1 : first);
    };
    wgmma_fence();
    if constexpr (S::parts == 2) {
        const uint64_t a_lo = a + (S::a_bytes >> 4), b_lo = b + (S::b_bytes >> 4);
        product(a, b_lo, accumulate); /* the small ones first */
        product(a_lo, b, 1);
        product(a, b, 1);
    } else {
        product(a, b, accumulate);
    }
    wgmma_commit_group();
}

}  // namespace ridge

#endif
