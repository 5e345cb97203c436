/* From one value a thread to one value a row: by shuffles within a warp, through shared memory within a block, through
 * distributed shared memory within a cluster. Everybody gets the same result, so that branches on it are
 * taken by a row's threads together.
 *
 * What is exchanged is a float or a float2 (a maximum and a sum, say, as one 64-bit value). merge must be commutative
 * to the last bit, and associative but for rounding. */
#ifndef RIDGE_KERNELS_CUDA_ROW_EXCHANGE_CUH
#define RIDGE_KERNELS_CUDA_ROW_EXCHANGE_CUH

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace ridge {

enum { ROW_WARPS = 32, ROW_CLUSTER = 16 }; /* of a block, blocks of a cluster, at the most */

/* Two sets in turn: whoever writes a set has met all others since they read it. */
struct row_slots {
    float2 warp[2][ROW_WARPS];
    float2 block[2][ROW_CLUSTER];
};

__device__ inline float row_shuffle(float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
__device__ inline float2 row_shuffle(float2 v, int mask) {
    return make_float2(row_shuffle(v.x, mask), row_shuffle(v.y, mask));
}

__device__ inline void row_put(float2 *slot, float v) { slot->x = v; }
__device__ inline void row_put(float2 *slot, float2 v) { *slot = v; }
__device__ inline void row_get(const float2 *slot, float *v) { *v = slot->x; }
__device__ inline void row_get(const float2 *slot, float2 *v) { *v = *slot; }

/* Threads: of a row, in one block: a power of two; beyond 32 they are the whole block. Cluster: the blocks of a cluster
 * have one row together. Threads beyond the last row take part, with nothing to add. */
template <int Threads, bool Cluster>
class row_exchange {
    static_assert((Threads & (Threads - 1)) == 0 && Threads <= 32 * ROW_WARPS, "whole warps, or equal parts of one");
    static_assert(!Cluster || Threads >= 32 * 2, "a cluster of whole blocks");
    row_slots *slots;
    int turn = 0;

    /* Lanes hold the values of Count parties, over and over: a power of two, which the compiler is told. */
    template <int Count, typename P, typename Merge>
    static __device__ P among(P v, Merge merge) {
#pragma unroll
        for (int mask = Count / 2; mask > 0; mask /= 2) v = merge(v, row_shuffle(v, mask));
        return v;
    }

    template <typename P, typename Merge>
    __device__ P across_warps(P v, Merge merge) const {
        float2 *set = slots->warp[turn];
        if (threadIdx.x % 32 == 0) row_put(&set[threadIdx.x / 32], v);
        __syncthreads();
        row_get(&set[threadIdx.x % (Threads / 32)], &v);
        return among<Threads / 32>(v, merge);
    }

    template <typename P, typename Merge>
    __device__ P across_blocks(P v, Merge merge) const {
#if __CUDA_ARCH__ >= 900
        auto cluster = cooperative_groups::this_cluster();
        const int blocks = (int)cluster.num_blocks(), mine = (int)cluster.block_rank();
        float2 *set = slots->block[turn];
        if ((int)threadIdx.x < blocks) row_put(cluster.map_shared_rank(&set[mine], (int)threadIdx.x), v);
        cluster.sync();
        row_get(&set[threadIdx.x & (blocks - 1)], &v);
        if (blocks == 16)
            v = among<16>(v, merge);
        else if (blocks == 8)
            v = among<8>(v, merge);
        else if (blocks == 4)
            v = among<4>(v, merge);
        else
            v = among<2>(v, merge);
#endif
        return v;
    }

   public:
    __device__ explicit row_exchange(row_slots *shared) : slots(shared) {}

    /* Before the first exchange, by every thread, and before anything long is waited for. */
    __device__ void begin() const {
#if __CUDA_ARCH__ >= 900
        if constexpr (Cluster) asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
    }
    /* The others have started, so that their shared memory can be written. */
    __device__ void meet() const {
#if __CUDA_ARCH__ >= 900
        if constexpr (Cluster) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
    }

    template <typename P, typename Merge>
    __device__ P merged(P v, Merge merge) {
        v = among < Threads < 32 ? Threads : 32 > (v, merge);
        if constexpr (Threads > 32) v = across_warps(v, merge);
        if constexpr (Cluster) v = across_blocks(v, merge);
        turn ^= 1;
        return v;
    }

    /* Whether `mine` is true of a row that exchanges together with this one: rows of one warp must branch as one. */
    __device__ bool any(bool mine) const {
        if constexpr (Threads < 32) return __any_sync(0xffffffffu, mine) != 0;
        return mine;
    }
};

}  // namespace ridge

#endif
