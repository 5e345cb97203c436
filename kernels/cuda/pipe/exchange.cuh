/* From one value a thread to one value a row: by shuffles within a warp, through shared memory within a block, through
 * DSMEM within a cluster. All threads get the same result, so that a row's threads branch on it together.
 *
 * Values are float or float2 (a maximum and a sum, as one 64-bit value). merge must be commutative to the last bit, and
 * associative but for rounding.
 *
 * Between the blocks of a cluster, values travel by st.async, which an mbarrier beside them counts: a thread waits for
 * the values alone, where barrier.cluster would wait for all earlier stores. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_EXCHANGE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_EXCHANGE_CUH

#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"

namespace ridge {

enum { ROW_WARPS = 32, ROW_CLUSTER = 16 }; /* of a block, blocks of a cluster, at most */

/* Two sets in turn: a thread writes a set after it has synchronized with all readers. Threads: see row_exchange. */
template <int Threads>
struct row_slots {
    float2 warp[2][Threads < 32 ? 1 : Threads / 32];
    float2 block[2][ROW_CLUSTER];
    uint64_t arrived[2]; /* barriers that count the bytes of `block` as other blocks write them */
};

__device__ inline void row_send(float2 *slot, uint64_t *barrier, int block, float2 v) {
    const uint32_t there = mapa(shared_address(slot), block), counted = mapa(shared_address(barrier), block);
    st_async(there, v, counted);
}
__device__ inline float2 row_two(float v) { return make_float2(v, 0.0f); }
__device__ inline float2 row_two(float2 v) { return v; }

__device__ inline float row_shuffle(float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
__device__ inline float2 row_shuffle(float2 v, int mask) {
    return make_float2(row_shuffle(v.x, mask), row_shuffle(v.y, mask));
}

__device__ inline void row_put(float2 *slot, float v) { slot->x = v; }
__device__ inline void row_put(float2 *slot, float2 v) { *slot = v; }
__device__ inline void row_get(const float2 *slot, float *v) { *v = slot->x; }
__device__ inline void row_get(const float2 *slot, float2 *v) { *v = *slot; }

/* Threads: of a row, in one block: a power of two; beyond 32 they are the whole block, or one of Groups in it that have
 * rows of their own, each with slots of its own. Cluster: the blocks of a cluster have one row together. Threads beyond
 * the last row take part, with nothing to add. */
template <int Threads, bool Cluster, int Groups = 1>
class row_exchange {
    static_assert((Threads & (Threads - 1)) == 0 && Threads <= 32 * ROW_WARPS, "whole warps, or equal parts of one");
    static_assert(!Cluster || Threads >= 32 * 2, "a cluster of whole blocks");
    row_slots<Threads> *slots;
    unsigned count = 0; /* of exchanges so far */

    __device__ int turn(void) const { return (int)(count & 1); }
    __device__ int phase(void) const { return (int)(count >> 1 & 1); } /* of either set's barrier */

    static __device__ int thread(void) { return Groups == 1 ? (int)threadIdx.x : (int)threadIdx.x % Threads; }
    /* Lanes hold the values of Count participants, repeated; a power of two, known at compile time. */
    template <int Count, typename P, typename Merge>
    static __device__ P among(P v, Merge merge) {
#pragma unroll
        for (int mask = Count / 2; mask > 0; mask /= 2) v = merge(v, row_shuffle(v, mask));
        return v;
    }

    template <typename P, typename Merge>
    __device__ P across_warps(P v, Merge merge) const {
        float2 *set = slots->warp[turn()];
        if (thread() % 32 == 0) row_put(&set[thread() / 32], v);
        sync();
        row_get(&set[threadIdx.x % (Threads / 32)], &v);
        return among<Threads / 32>(v, merge);
    }

    template <typename P, typename Merge>
    __device__ P across_blocks(P v, Merge merge) const {
#if __CUDA_ARCH__ >= 900
        /* Not cluster_ctarank(): the compiler reads these again where it would otherwise keep them in registers. */
        const int blocks = (int)__clusterSizeInBlocks(), mine = (int)__clusterRelativeBlockRank();
        float2 *set = slots->block[turn()];
        uint64_t *arrived = &slots->arrived[turn()];
        if (thread() == 0) mbarrier_arrive_expect_tx(shared_address(arrived), blocks * (int)sizeof *set);
        if (thread() < blocks) row_send(&set[mine], arrived, thread(), row_two(v));
        mbarrier_wait_parity_cluster(shared_address(arrived), phase());
        row_get(&set[threadIdx.x & (blocks - 1)], &v);
        if (blocks == 16)
            v = among<16>(v, merge);
        else if (blocks == 8)
            v = among<8>(v, merge);
        else if (blocks == 4)
            v = among<4>(v, merge);
        else
            v = among<2>(v, merge);
#else
        __trap(); /* no clusters on this device */
#endif
        return v;
    }

   public:
    __device__ explicit row_exchange(row_slots<Threads> *shared) : slots(shared) {}

    /* Of the row's threads in this block. */
    static __device__ void sync(void) {
        if constexpr (Groups == 1)
            __syncthreads();
        else
            bar_sync<Threads>(1 + (int)threadIdx.x / Threads);
    }

    /* By every thread, before the first exchange and before any long wait. */
    __device__ void begin() const {
        if constexpr (Cluster) {
            if (thread() == 0) {
                mbarrier_init(shared_address(&slots->arrived[0]), 1),
                    mbarrier_init(shared_address(&slots->arrived[1]), 1);
                fence_mbarrier_init();
            }
            __syncwarp();
            barrier_cluster_arrive_relaxed();
        }
    }
    /* All blocks have started, so their shared memory can be written. A block may exit when it has the last value that
     * it waits for: nothing more is in flight to it. */
    __device__ void meet() const {
        if constexpr (Cluster) barrier_cluster_wait();
    }

    template <typename P, typename Merge>
    __device__ P merged(P v, Merge merge) {
        v = among < Threads < 32 ? Threads : 32 > (v, merge);
        if constexpr (Threads > 32) v = across_warps(v, merge);
        if constexpr (Cluster) v = across_blocks(v, merge);
        count++;
        return v;
    }

    /* Whether `mine` is true of a row that exchanges together with this one: rows of one warp must branch as one, but
     * for those of one thread. */
    __device__ bool any(bool mine) const {
        if constexpr (Threads < 32 && Threads > 1) return __any_sync(0xffffffffu, mine) != 0;
        return mine;
    }
};

}  // namespace ridge

#endif
