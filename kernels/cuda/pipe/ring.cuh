/* The ring of stages in shared memory through which operands come. full[s] counts the bytes of stage s as TMA brings
 * them; empty[s] counts the warpgroups that have read it. The blocks of a cluster, CM x CN neighbouring tiles, share
 * operands: each loads a part of A's tile for the CN blocks of its row and of B's for the CM blocks of its column, so a
 * stage may be overwritten when the readers of all of these are done. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_RING_CUH
#define RIDGE_KERNELS_CUDA_PIPE_RING_CUH

#include "cuda/mma/sm90.cuh"
#include "cuda/pipe/pace.cuh"
#include "cuda/pipe/schedule.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tensor.cuh"

namespace ridge {

/* A place in the ring of stages. */
template <int Stages>
struct ring {
    int stage = 0, phase = 0;
    __device__ void next(void) {
        if (++stage == Stages) stage = 0, phase ^= 1;
    }
};

template <class S>
struct matmul_memory {
    uint32_t base, barriers;
    __device__ uint32_t a(int stage) const { return base + stage * S::stage_bytes; }
    __device__ uint32_t b(int stage) const { return a(stage) + S::parts * S::a_bytes; }
    __device__ uint32_t scales(int stage) const { return b(stage) + S::parts * S::b_bytes; }
    __device__ uint32_t full(int stage) const { return barriers + 8 * stage; }
    __device__ uint32_t empty(int stage) const { return barriers + 8 * (S::stages + stage); }
};

/* Of an operand's lines in L2: kept, or evicted as any. */
__device__ inline uint64_t operand_policy(bool keep) {
    const uint64_t kept = createpolicy_evict_last(), any = createpolicy_evict_normal();
    return keep ? kept : any;
}
/* This block's part of an operand's tile, for `Peers` blocks; first: the tile's first row (column of B). Bytes: of a line. */
template <class S, int Extent, bool KMajor, int Peers, int Bytes>
__device__ inline void load_operand(uint32_t to, const CUtensorMap *map, uint32_t barrier, int first, int k, int part,
                                    uint16_t blocks, uint64_t policy, int batch) {
    constexpr bool several = S::batched || S::grouped;
    static_assert(!several || Peers == 1, "products side by side share no operand");
    constexpr int whole = KMajor ? Extent : S::K, lines = lines_of_peer(whole, Peers);
    const int line = whole % (8 * Peers) ? min(part * lines, whole - lines) : part * lines;
#pragma unroll
    for (int chunk = 0; chunk < (KMajor ? 1 : Extent / S::line); chunk++) {
        const uint32_t at = to + (uint32_t)(chunk * S::K * Bytes + line * Bytes);
        const int c0 = KMajor ? k : first + chunk * S::line, c1 = (KMajor ? first : k) + line;
        if constexpr (Peers > 1)
            cp_async_bulk_tensor_2d_multicast(at, map, barrier, c0, c1, blocks, policy);
        else if constexpr (several)
            cp_async_bulk_tensor_3d(at, map, barrier, c0, c1, batch, policy);
        else
            cp_async_bulk_tensor_2d(at, map, barrier, c0, c1, policy);
    }
}

template <class S>
__device__ inline void produce(const CUtensorMap *a_map, const CUtensorMap *b_map, const matmul_plan &plan,
                               const matmul_memory<S> &memory, int rank) {
    matmul_schedule<S> schedule(plan, rank);
    const int block_m = rank % S::CM, block_n = rank / S::CM;
    uint16_t row = 0, columns = 0; /* the blocks that share this one's rows, and its columns */
    for (int n = 0; n < S::CN; n++) row |= (uint16_t)(1 << (block_m + n * S::CM));
    for (int m = 0; m < S::CM; m++) columns |= (uint16_t)(1 << (m + block_n * S::CM));
    const uint64_t a_policy = operand_policy(plan.keep_a), b_policy = operand_policy(plan.keep_b);
    ring<S::stages> at;
    unsigned slice = 0;
    const unsigned paced = plan.progress ? (unsigned)(schedule.whole_waves() * plan.slices) : 0;
    for (; schedule.more(); schedule.next()) {
        const matmul_tile tile = schedule.tile();
        if (!schedule.exists(tile)) continue;
        const int share = plan.across > 0 ? tile.n / S::columns / plan.across : 0;
        const int column = tile.n - share * plan.across * S::columns, begin = share * plan.slices;
        for (int k = 0; k < plan.slices; k++, at.next()) {
            if (slice < paced && ++slice % PACE == 0) keep_pace(plan.progress, slice / PACE);
            mbarrier_wait_parity(memory.empty(at.stage), at.phase ^ 1);
            mbarrier_arrive_expect_tx(memory.full(at.stage), S::arriving_bytes);
            if constexpr (S::fp4) /* shares of K may end behind the last */
                cp_async_bulk(memory.scales(at.stage),
                              plan.scales.base + tile.m / S::M * plan.scales.line +
                                  min(begin + k, plan.scales.tiles - 1) * (int64_t)S::scale_bytes,
                              S::scale_bytes, memory.full(at.stage));
#pragma unroll
            for (int part = 0; part < S::parts; part++) {
                const int from = (begin + k + part * plan.low) * S::K;
                if constexpr (S::eights)
                    cp_async_bulk_tensor_4d(memory.a(at.stage), a_map, memory.full(at.stage), from / S::a_share, 0, 0,
                                            tile.m / 16, a_policy);
                else
                    load_operand<S, S::M, S::KA, S::CN, S::a_line>(
                        memory.a(at.stage) + (uint32_t)(part * S::a_bytes), a_map, memory.full(at.stage), tile.m,
                        from / S::a_share, block_n, row, a_policy, schedule.batch_of_a(tile));
#pragma unroll
                for (int half = 0; half < S::halves; half++)
                    load_operand<S, S::columns, S::KB, S::CM, 128>(
                        memory.b(at.stage) + (uint32_t)(part * S::b_bytes + half * S::columns * 128), b_map,
                        memory.full(at.stage), column + half * plan.pair, from, block_m, columns, b_policy, tile.batch);
            }
        }
    }
}

/* Tells the producers that write into this stage that a warpgroup has read it. */
template <class S>
__device__ inline void release(uint32_t empty, int rank) {
    const int thread = (int)threadIdx.x % 128;
    if constexpr (S::cluster == 1) {
        if (thread == 0) mbarrier_arrive_cluster(empty, 0);
    } else {
        const bool shares = thread % S::CM == rank % S::CM || thread / S::CM == rank / S::CM;
        if (thread < S::cluster && shares) mbarrier_arrive_cluster(empty, thread);
    }
}

}  // namespace ridge

#endif
