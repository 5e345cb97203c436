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
 *     factors, scales_of, load, of, add    of shapes whose every slice is promoted: pipe/factors.cuh
 *     codes(tile, group)                   of shapes whose A is sparse: sparse_codes of gemm/sparse.cuh
 *     end()                                behind the last tile
 *     beside()                             where it exists: by the other warps of the first warpgroup, all along
 *     store(plan, rank, scratch)           where it exists: by a second thread of the first warpgroup, all tiles; scratch
 *                                          of both warpgroups
 *     write(plan, rank, scratch)           where it exists: the same, by the second warp
 *
 * Stages are those of pipe/ring.cuh.
 *
 * The kernel is persistent: as many blocks as fit on the GPU, each takes tile after tile. While consumers finish one
 * tile, the producer loads the next. Tiles come in bands of rows, so that blocks that run together share operands in
 * L2.
 *
 * Shapes with `promote` > 0 sum in two steps. Tensor cores round towards zero each time they add, so a long sum drifts;
 * after `promote` slices their sum is added to another in fp32. Products of split operands (gemm/split.cuh) need it. A
 * stage then has the hi and lo parts of both operands, multiplied as hi lo, lo hi, hi hi. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_MATMUL_CUH
#define RIDGE_KERNELS_CUDA_GEMM_MATMUL_CUH

#include "cuda/gemm/fp4.cuh"
#include "cuda/gemm/sparse.cuh"
#include "cuda/pipe/factors.cuh"
#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* Until the stage at hand is full. */
template <class S>
__device__ inline void wait_full(const matmul_memory<S> &memory, const ring<S::stages> &at) {
    mbarrier_wait_parity(memory.full(at.stage), at.phase);
}

/* The products of the stage at hand, once it is full; they go on behind this. */
template <class S>
__device__ inline void multiply_full_stage(typename S::Sum (&sums)[S::sums], const matmul_memory<S> &memory,
                                           const ring<S::stages> &at, int group, int accumulate) {
    wait_full<S>(memory, at);
    multiply_stage<S>(sums, memory.a(at.stage), memory.b(at.stage), group, accumulate);
}

/* All slices of one tile, summed in the tensor cores' registers. */
template <class S>
__device__ inline void multiply_tile(typename S::Sum (&sums)[S::sums], const matmul_memory<S> &memory,
                                     ring<S::stages> &at, int slices, int group, int rank) {
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
__device__ inline void multiply_tile_in_turns(typename S::Sum (&sums)[S::sums], const matmul_memory<S> &memory,
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

/* The same where every slice is promoted, times factors: the next slice is multiplied while one is added, so that the tensor cores
 * never wait for a warpgroup's additions. It takes a third set of registers. */
template <class S, class Epilogue>
__device__ inline void multiply_tile_by_factors(float (&total)[S::sums], const matmul_memory<S> &memory,
                                                ring<S::stages> &at, int slices, int group, int rank,
                                                const Epilogue &epilogue, const factors_ring<S, Epilogue> &factors) {
    float even[S::sums], odd[S::sums];
    ring<S::stages> behind = at; /* the stage that is released next */
    const auto start = [&](float(&sums)[S::sums]) {
        wait_full<S>(memory, at);
        const auto own = factors.take(at.stage, group);
        multiply_stage<S>(sums, memory.a(at.stage), memory.b(at.stage), group, 0);
        factors.tell(factors.read(at.stage));
        at.next();
        return own;
    };
    const auto add = [&](float(&sums)[S::sums], const auto &own) {
        wgmma_settle(sums);
        release<S>(memory.empty(behind.stage), rank);
        behind.next();
        epilogue.add(total, sums, own);
    };
#pragma unroll
    for (int i = 0; i < S::sums; i++) total[i] = 0.0f;
    int k = 0;
    auto of_even = start(even);
    for (; k + 2 < slices; k += 2) { /* without a branch, or ptxas lets products and additions take turns */
        const auto of_odd = start(odd);
        wgmma_wait_group<1>();
        add(even, of_even);
        of_even = start(even);
        wgmma_wait_group<1>();
        add(odd, of_odd);
    }
    if (k + 1 < slices) {
        const auto of_odd = start(odd);
        wgmma_wait_group<1>();
        add(even, of_even);
        wgmma_wait_group<0>();
        add(odd, of_odd);
    } else {
        wgmma_wait_group<0>();
        add(even, of_even);
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

template <class S, class Epilogue>
__device__ inline factors_ring<S, Epilogue> factors_of(const matmul_memory<S> &memory) {
    return {memory.barriers + (uint32_t)(16 * S::stages)};
}

template <class S, class Epilogue>
constexpr int factors_bytes(void) {
    if constexpr (has_factors<Epilogue>)
        return factors_ring<S, Epilogue>::bytes;
    else
        return 0;
}
template <class S, class Epilogue>
constexpr int matmul_shared_bytes = S::stages *(S::stage_bytes + 16) + S::groups *Epilogue::scratch
                                    + factors_bytes<S, Epilogue>();

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
            mbarrier_init(memory.full(s), filling_warps<Epilogue> + 1);
            mbarrier_init(memory.empty(s), S::groups * (S::CM + S::CN - 1));
        }
        if constexpr (has_factors<Epilogue>) factors_of<S, Epilogue>(memory).init();
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
        if constexpr (requires { epilogue.template write<S>(plan, rank, scratch); })
            if (threadIdx.x / 32 == 1) epilogue.template write<S>(plan, rank, scratch);
        if constexpr (works_beside<Epilogue>)
            if (threadIdx.x >= 64) epilogue.beside();
        if constexpr (has_factors<Epilogue>)
            if (threadIdx.x >= FILLING_THREAD) factors_of<S, Epilogue>(memory).fill(plan, memory, epilogue, rank);
    } else {
        setmaxnreg_inc<other_registers<Epilogue>>();
        ring<S::stages> at;
        int number = 0;
        for (matmul_schedule<S> schedule(plan, rank); schedule.more(); schedule.next()) {
            matmul_tile tile = schedule.tile();
            if (!schedule.exists(tile)) continue;
            tile.number = number;
            if (schedule.is_whole(tile)) number++;
            typename S::Sum sums[S::sums];
            const auto state = epilogue.begin(tile, group);
            if constexpr (S::sparse)
                multiply_tile_sparse<S>(sums, memory, at, plan.slices, group, rank, epilogue.codes(tile, group));
            else if constexpr (S::fp4)
                multiply_tile_fp4<S>(sums, memory, at, plan, tile, group, rank);
            else if constexpr (has_factors<Epilogue>)
                multiply_tile_by_factors<S>(sums, memory, at, plan.slices, group, rank, epilogue,
                                            factors_of<S, Epilogue>(memory));
            else if constexpr (S::promote > 0)
                multiply_tile_promoted<S>(sums, memory, at, plan.slices, group, rank);
            else if constexpr (S::stages == 1)
                multiply_tile_in_turns<S>(sums, memory, at, plan.slices, group, rank);
            else
                multiply_tile<S>(sums, memory, at, plan.slices, group, rank);
            epilogue.finish(tile, state, sums, scratch + (uint32_t)(group * Epilogue::scratch), group);
        }
        epilogue.end();
    }
    if constexpr (S::cluster > 1) barrier_cluster_sync(); /* nobody leaves while others may still write here */
#else
    __trap(); /* launched on Hopper alone */
#endif
}

}  // namespace ridge

#endif
