/* Tiles of sums on their way to D where a matrix C is added: a thread of its own brings C's chunks into the slots of
 * epilogue/store.cuh, warps replace them by what they make of C and the sums, and the thread stores the slots. C comes
 * while the tile is multiplied. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_STORE_ADDED_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_STORE_ADDED_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/ptx/global.cuh"

namespace ridge {

/* The chunks of a block's tiles in the order of their stores: of both warpgroups in turn. */
template <class S>
struct chunk_walk {
    static constexpr int of_tile = 2 * (S::N / 64);
    matmul_schedule<S> schedule;
    int u = 0, number = 0;

    __device__ chunk_walk(const matmul_plan &plan, int rank) : schedule(plan, rank) { skip(); }
    __device__ void skip(void) {
        while (schedule.more() && !schedule.exists(schedule.tile())) schedule.next();
    }
    __device__ bool more(void) const { return schedule.more(); }
    __device__ bool ends_tile(void) const { return u == of_tile - 1; }
    __device__ int chunk(void) const { return number * (of_tile / 2) + u / 2; }
    __device__ int row(void) const { return schedule.tile().m + u % 2 * 64; }
    __device__ int column(void) const { return schedule.tile().n + u / 2 * 64; }
    __device__ void next(void) {
        if (++u < of_tile) return;
        u = 0, number++;
        schedule.next(), skip();
    }
};

/* store_slots whose barrier `vacant` says that the chunk of C has come. */
template <typename T, int N>
struct added_slots : store_slots<T, N> {
    using base = store_slots<T, N>;
    __device__ uint32_t loaded(int c) const { return this->vacant(c); }

    /* By the warpgroup: its rows of tile number `tile`: what finish(values) makes of the sums plus beta C, 32 values of a
     * thread at a time. */
    template <typename Finish>
    __device__ void put(const float (&sums)[N / 2], int tile, float beta, Finish finish) const {
        const int lane = (int)threadIdx.x % 32, line = thread_of_warpgroup() / 32 * 16 + lane % 16;
#pragma unroll
        for (int chunk = 0; chunk < base::chunks; chunk++) {
            const int c = tile * base::chunks + chunk;
            float v[32];
            mbarrier_wait_parity(loaded(c), base::turn(c));
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                unsigned two[4];
                ldmatrix_x4(two, this->slot(c) + (uint32_t)swizzle_128B(line, j + lane / 16));
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    float low, high;
                    unpack_pair(T(), two[e], &low, &high);
                    v[4 * j + 2 * e] = fmaf(beta, low, sums[(chunk * 8 + j) * 4 + 2 * e]);
                    v[4 * j + 2 * e + 1] = fmaf(beta, high, sums[(chunk * 8 + j) * 4 + 2 * e + 1]);
                }
            }
            finish(v);
            put_chunk<T>(this->slot(c), v, 0);
            fence_proxy_async(); /* TMA reads what this thread has written */
            __syncwarp();
            if (threadIdx.x % 32 == 0) mbarrier_arrive(this->ready(c));
        }
    }
};

/* By one thread: the tiles of both warpgroups, whose slots are `bytes` apart. A slot gets its next chunk of C when its
 * store has read it: when the store behind it is under way, or at the end of a tile. */
template <class S, typename T>
__device__ inline void store_tiles_added(const CUtensorMap *c_map, const CUtensorMap *d_map, const matmul_plan &plan,
                                         int rank, uint32_t scratch) {
    using slots = added_slots<T, S::N>;
    constexpr int in_flight = 4; /* slots of both groups */
    const auto slots_of = [&](const chunk_walk<S> &w) { return slots{{scratch + (uint32_t)(w.u % 2 * slots::bytes)}}; };
    chunk_walk<S> load(plan, rank), store(plan, rank);
    int loads = 0, stores = 0;
    const uint64_t policy = createpolicy_evict_first();
    const auto load_until = [&](int end) {
        for (; loads < end && load.more(); loads++, load.next()) {
            const slots to = slots_of(load);
            const int c = load.chunk();
            mbarrier_arrive_expect_tx(to.loaded(c), 64 * 128);
            cp_async_bulk_tensor_2d(to.slot(c), c_map, to.loaded(c), load.column(), load.row(), policy);
        }
    };
    load_until(in_flight);
    while (store.more()) {
        const slots from = slots_of(store);
        const int c = store.chunk();
        mbarrier_wait_parity(from.ready(c), slots::turn(c));
        cp_async_bulk_tensor_store(d_map, from.slot(c), store.column(), store.row());
        cp_async_bulk_commit_group();
        stores++;
        if (store.ends_tile())
            cp_async_bulk_wait_group_read<0>();
        else
            cp_async_bulk_wait_group_read<1>();
        load_until(stores - (store.ends_tile() ? 0 : 1) + in_flight);
        store.next();
    }
    cp_async_bulk_wait_group();
}

}  // namespace ridge

#endif
