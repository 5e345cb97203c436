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
#include <stdint.h>

extern "C" {
#include "cuda/row_ways.h"
}

namespace ridge {

enum { ROW_WARPS = 32 }; /* of a block, at the most */

/* Two sets in turn: whoever writes a set has met all others since they read it. Threads: see row_exchange. */
template <int Threads>
struct row_slots {
    float2 warp[2][Threads < 32 ? 1 : Threads / 32];
    float2 block[2][ROW_CLUSTER];
    uint64_t arrived[2]; /* barriers that count the bytes of `block` as other blocks write them */
};

/* Between the blocks of a cluster, values travel as asynchronous stores that a barrier beside them counts: nobody waits
 * for anything but the values, where a barrier of the whole cluster would wait for all that was stored before. */
#if __CUDA_ARCH__ >= 900
__device__ inline unsigned row_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ inline void row_barrier_init(uint64_t *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(row_shared(barrier)) : "memory");
}
__device__ inline void row_barrier_expect(uint64_t *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(row_shared(barrier)), "r"(bytes)
                 : "memory");
}
__device__ inline void row_barrier_wait(uint64_t *barrier, int parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n\tAGAIN:\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
        "@!done bra AGAIN;\n\t}" ::"r"(row_shared(barrier)),
        "r"(parity)
        : "memory");
}
__device__ inline void row_send(float2 *slot, uint64_t *barrier, int block, float2 v) {
    unsigned there, counted;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(row_shared(slot)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counted) : "r"(row_shared(barrier)), "r"(block));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(there),
                 "f"(v.x), "f"(v.y), "r"(counted)
                 : "memory");
}
#endif
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
    /* Lanes hold the values of Count parties, over and over: a power of two, which the compiler is told. */
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
        auto cluster = cooperative_groups::this_cluster();
        const int blocks = (int)cluster.num_blocks(), mine = (int)cluster.block_rank();
        float2 *set = slots->block[turn()];
        uint64_t *arrived = &slots->arrived[turn()];
        if (thread() == 0) row_barrier_expect(arrived, blocks * (int)sizeof *set);
        if (thread() < blocks) row_send(&set[mine], arrived, thread(), row_two(v));
        row_barrier_wait(arrived, phase());
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
    __device__ explicit row_exchange(row_slots<Threads> *shared) : slots(shared) {}

    /* Of the row's threads in this block. */
    static __device__ void sync(void) {
        if constexpr (Groups == 1)
            __syncthreads();
        else
            asm volatile("bar.sync %0, %1;" ::"r"(1 + (int)threadIdx.x / Threads), "n"(Threads) : "memory");
    }

    /* Before the first exchange, by every thread, and before anything long is waited for. */
    __device__ void begin() const {
#if __CUDA_ARCH__ >= 900
        if constexpr (Cluster) {
            if (thread() == 0) {
                row_barrier_init(&slots->arrived[0]), row_barrier_init(&slots->arrived[1]);
                asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            }
            __syncwarp();
            asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
        }
#endif
    }
    /* The others have started, so that their shared memory can be written. (A block may end when it has the last value
     * that it waits for: nothing more is on its way to it.) */
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
        count++;
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
