/* The pipeline of every product of large matrices: C[m, n] = A[m, k] B[k, n], tile by tile.
 *
 *   producer     one thread of the first warpgroup keeps `stages` slices of K of A's and B's tile in flight (TMA)
 *   consumers    two warpgroups, each the sums of half of the tile's rows in registers (wgmma)
 *   epilogue     from a tile of sums to the result (epilogue/), which has
 *     scratch                              bytes of shared memory for each warpgroup, a multiple of 1024
 *     waits()                              whether blocks wait here for other blocks
 *     prepare(scratch)                     once, by both warpgroups, before the blocks of a cluster meet
 *     state begin(tile, group)             before the tile's products: what to load ahead
 *     finish(tile, state, sums, scratch, group)
 *     end()                                behind the last tile
 *     beside()                             where it exists: by the other warps of the first warpgroup, all along
 *     merge(tile, sums)                    of deep shapes, instead of finish: see below
 *     store(plan, rank, scratch)           where it exists: by a second thread of the first warpgroup, all tiles; scratch
 *                                          of both warpgroups
 *
 * Stages are those of pipe/ring.cuh.
 *
 * The kernel is persistent: as many blocks as fit on the GPU, each takes tile after tile. While consumers finish one
 * tile, the producer loads the next. Tiles come in bands of rows, so that blocks that run together share operands in
 * L2.
 *
 * Of deep shapes a cluster has one tile, and each of its blocks a share of K. Their sums meet in shared memory, in place of the
 * stages, and each block makes the results of a part of the tile: always in the order of the shares, in one launch.
 *
 * Shapes with `promote` > 0 sum in two steps. Tensor cores round towards zero each time they add, so a long sum drifts;
 * after `promote` slices their sum is added to another in fp32. Products of split operands (gemm/split.cuh) need it. A
 * stage then has the hi and lo parts of both operands, multiplied as hi lo, lo hi, hi hi. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_MATMUL_CUH
#define RIDGE_KERNELS_CUDA_GEMM_MATMUL_CUH

#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/tile/fragment.cuh"

namespace ridge {

/* The products of the stage at hand, once it is full; they go on behind this. */
template <class S>
__device__ inline void multiply_full_stage(float (&sums)[S::sums], const matmul_memory<S> &memory,
                                           const ring<S::stages> &at, int group, int accumulate) {
    mbarrier_wait_parity(memory.full(at.stage), at.phase);
    multiply_stage<S>(sums, memory.a(at.stage), memory.b(at.stage), group, accumulate);
}

/* All slices of one tile, summed in the tensor cores' registers. */
template <class S>
__device__ inline void multiply_tile(float (&sums)[S::sums], const matmul_memory<S> &memory, ring<S::stages> &at,
                                     int slices, int group, int rank) {
    int before = 0;
    for (int k = 0; k < slices; k++, at.next()) {
        multiply_full_stage<S>(sums, memory, at, group, k > 0);
        wgmma_wait_group<1>();
        if (k > 0) release<S>(memory.empty(before), rank);
        before = at.stage;
    }
    wgmma_wait_group<0>();
    wgmma_settle(sums);
    release<S>(memory.empty(before), rank);
}

/* The same with one stage: nothing comes before it is free. */
template <class S>
__device__ inline void multiply_tile_in_turns(float (&sums)[S::sums], const matmul_memory<S> &memory,
                                              ring<S::stages> &at, int slices, int group, int rank) {
    for (int k = 0; k < slices; k++, at.next()) {
        multiply_full_stage<S>(sums, memory, at, group, k > 0);
        wgmma_wait_group<0>();
        release<S>(memory.empty(at.stage), rank);
    }
    wgmma_settle(sums);
}

/* The same in two steps: see the head of this file. */
template <class S>
__device__ inline void multiply_tile_promoted(float (&total)[S::sums], const matmul_memory<S> &memory,
                                              ring<S::stages> &at, int slices, int group, int rank) {
    float sums[S::sums];
#pragma unroll
    for (int i = 0; i < S::sums; i++) total[i] = 0.0f;
    for (int begin = 0; begin < slices; begin += S::promote) {
        multiply_tile<S>(sums, memory, at, min(S::promote, slices - begin), group, rank);
#pragma unroll
        for (int i = 0; i < S::sums; i++) total[i] += sums[i];
    }
}

/* Registers of a thread of the first warpgroup, and of the others: 168 each at first. Where it works on tiles beside them it
 * has a third more. */
template <class Epilogue>
constexpr bool works_beside = requires(const Epilogue &e) {
    e.beside();
};
template <class Epilogue>
constexpr int first_registers = works_beside<Epilogue> ? 72 : 56;
template <class Epilogue>
constexpr int other_registers = (3 * 168 - first_registers<Epilogue>) / 2;

constexpr int MATMUL_DEEP = 8; /* shares of K at most: blocks of a cluster that every GPU has */

template <class S, class Epilogue>
constexpr int matmul_shared_bytes = S::stages *(S::stage_bytes + 16) + S::groups *Epilogue::scratch;

/* ---- deep shapes: the sums of a cluster's blocks ---- */

/* A block's sums in shared memory, in lines of one row. The padding keeps a warp's stores apart. */
template <class S>
struct deep_sums {
    static constexpr int line = S::N + 8, bytes = 4 * S::M * line, fours = S::M * S::N / 4;
    uint32_t base;

    __device__ uint32_t at(int row, int column) const { return base + 4 * (uint32_t)(row * line + column); }
    /* By both warpgroups, behind their last products. */
    __device__ void leave(const float (&v)[S::sums], int group) const {
        static_assert(bytes <= S::stages * S::stage_bytes, "in place of the stages");
        const int row = fragment_row(group), column = fragment_column();
        bar_sync<3, 128 * S::groups>(); /* nobody multiplies any more */
#pragma unroll
        for (int j = 0; j < S::N / 8; j++) {
            st_shared_v2(at(row, 8 * j + column), v[4 * j], v[4 * j + 1]);
            st_shared_v2(at(row + 8, 8 * j + column), v[4 * j + 2], v[4 * j + 3]);
        }
    }
    /* to(row, column, sums): of four neighbours, for this block's part of the tile, by both warpgroups. */
    template <typename To>
    __device__ void merge(To to) const {
        const int blocks = cluster_nctarank(), rank = cluster_ctarank();
        const int begin = rank * fours / blocks, end = (rank + 1) * fours / blocks;
        for (int i = begin + (int)threadIdx.x - 128; i < end; i += 128 * S::groups) {
            const int row = i / (S::N / 4), column = i % (S::N / 4) * 4;
            float4 part[MATMUL_DEEP];
#pragma unroll
            for (int s = 0; s < MATMUL_DEEP; s++)
                if (s < blocks) part[s] = ld_shared_cluster_v4(at(row, column), s);
            float v[4] = {part[0].x, part[0].y, part[0].z, part[0].w};
#pragma unroll
            for (int s = 1; s < MATMUL_DEEP; s++)
                if (s < blocks) v[0] += part[s].x, v[1] += part[s].y, v[2] += part[s].z, v[3] += part[s].w;
            to(row, column, v);
        }
    }
};

template <class S, class Epilogue>
__global__ void __launch_bounds__(S::threads, 1)
    matmul_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                  const __grid_constant__ matmul_plan plan, const __grid_constant__ Epilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    static_assert(Epilogue::scratch % 1024 == 0 && matmul_shared_bytes<S, Epilogue> <= 227 * 1024, "shared memory");
    extern __shared__ __align__(1024) uint8_t matmul_shared[]; /* the swizzle's pattern begins at multiples of 1024 */
    const uint32_t scratch = shared_address(matmul_shared) + S::stages * S::stage_bytes;
    const matmul_memory<S> memory = {shared_address(matmul_shared), scratch + S::groups * Epilogue::scratch};
    const int rank = S::cluster > 1 ? cluster_ctarank() : 0, group = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 0) {
        prefetch_tensormap(&a_map), prefetch_tensormap(&b_map);
        for (int s = 0; s < S::stages; s++) {
            mbarrier_init(memory.full(s), 1);
            mbarrier_init(memory.empty(s), S::groups * (S::CM + S::CN - 1));
        }
        fence_mbarrier_init();
    }
    if (group >= 0) epilogue.prepare(scratch + (uint32_t)(group * Epilogue::scratch));
    if constexpr (S::cluster > 1)
        barrier_cluster_sync();
    else
        __syncthreads();
    after_previous_launch();
    if (group < 0) {
        setmaxnreg_dec<first_registers<Epilogue>>();
        if (threadIdx.x == 0) produce<S>(&a_map, &b_map, plan, memory, rank);
        if constexpr (requires { epilogue.template store<S>(plan, rank, scratch); })
            if (threadIdx.x == 32) epilogue.template store<S>(plan, rank, scratch);
        if constexpr (works_beside<Epilogue>)
            if (threadIdx.x >= 64) epilogue.beside();
        if constexpr (S::deep) {
            __syncwarp();
            barrier_cluster_sync();
        }
    } else {
        setmaxnreg_inc<other_registers<Epilogue>>();
        ring<S::stages> at;
        int number = 0;
        for (matmul_schedule<S> schedule(plan, rank); schedule.more(); schedule.next()) {
            matmul_tile tile = schedule.tile();
            if (!schedule.exists(tile)) continue;
            tile.number = number++;
            float sums[S::sums];
            const auto state = epilogue.begin(tile, group);
            if constexpr (S::promote > 0)
                multiply_tile_promoted<S>(sums, memory, at, plan.slices, group, rank);
            else if constexpr (S::stages == 1)
                multiply_tile_in_turns<S>(sums, memory, at, plan.slices, group, rank);
            else
                multiply_tile<S>(sums, memory, at, plan.slices, group, rank);
            if constexpr (S::deep)
                deep_sums<S>{memory.base}.leave(sums, group);
            else
                epilogue.finish(tile, state, sums, scratch + (uint32_t)(group * Epilogue::scratch), group);
        }
        if constexpr (S::deep) {
            barrier_cluster_sync(); /* all sums are there */
            epilogue.merge(matmul_schedule<S>(plan, rank).tile(), deep_sums<S>{memory.base});
        }
        epilogue.end();
    }
    if constexpr (S::cluster > 1 || S::deep)
        barrier_cluster_sync(); /* nobody leaves while others may still write here */
#else
    __trap(); /* launched on Hopper alone */
#endif
}

}  // namespace ridge

#endif
