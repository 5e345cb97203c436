/* What the promoted sums of a slice are multiplied by, on their way from scales in memory to the threads that add: two warps of the
 * first warpgroup, which have nothing else to do, load the scales of each pair of rows that a thread has (tile/fragment.cuh) and leave
 * their products beside the stage, in shared memory. A stage is full with them. Consumers that load scales themselves do it behind
 * the wait for their sums and ahead of the next products, with four addresses of 64 bits and four loads, for which tensor cores wait.
 *
 * An epilogue with factors has
 *     struct factors              8 or 16 bytes
 *     scales_of(tile, row)        where the scales are of rows `row` and `row + 8`, and of the tile's columns
 *     load(scales, slice)         those of a slice of the tile's K; of one behind its last: any
 *     factors of(loaded)
 *     add(total, sums, factors)   by the threads that multiply
 *
 * From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_FACTORS_CUH
#define RIDGE_KERNELS_CUDA_PIPE_FACTORS_CUH

#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/tile/fragment.cuh"

namespace ridge {

template <class Epilogue>
constexpr bool has_factors = requires {
    typename Epilogue::factors;
};

/* Warps that fill, and the first of their threads in the block. */
template <class Epilogue>
constexpr int filling_warps = has_factors<Epilogue> ? 2 : 0;
constexpr int FILLING_THREAD = 64;

/* Factors of the stages, and barriers that count the warps which have read them. */
template <class S, class Epilogue>
struct factors_ring {
    using factors = typename Epilogue::factors;
    static constexpr int ahead = 4; /* slices whose scales are under way */
    static constexpr int pairs = S::M / 2, size = sizeof(factors), stage_bytes = pairs * size;
    static constexpr int bytes = S::stages * (stage_bytes + 8);
    static_assert(pairs == 32 * filling_warps<Epilogue>, "a thread that fills has a pair of rows");
    static_assert(size == 8 || size == 16, "one load");
    uint32_t at;

    __device__ uint32_t read(int stage) const { return at + (uint32_t)(S::stages * stage_bytes + 8 * stage); }
    __device__ uint32_t place(int stage, int pair) const { return at + (uint32_t)(stage * stage_bytes + pair * size); }

    __device__ void init(void) const {
        for (int s = 0; s < S::stages; s++) mbarrier_init(read(s), 4 * S::groups);
    }
    /* By all lanes of a warp: it has written, or read. */
    __device__ static void tell(uint32_t barrier) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
    }
    __device__ static void store(uint32_t to, const factors &f) {
        if constexpr (size == 16)
            st_shared_v4(to, *(const uint4 *)&f);
        else
            st_shared_v2(to, ((const float *)&f)[0], ((const float *)&f)[1]);
    }
    __device__ static factors load(uint32_t from) {
        factors f;
        if constexpr (size == 16)
            *(uint4 *)&f = ld_shared_v4(from);
        else
            *(float2 *)&f = ld_shared_v2(from);
        return f;
    }

    /* Of all tiles, by the warps that fill. */
    __device__ void fill(const matmul_plan &plan, const matmul_memory<S> &memory, const Epilogue &epilogue,
                         int rank) const {
        const int pair = (int)threadIdx.x - FILLING_THREAD, row = pair / 8 * 16 + pair % 8;
        ring<S::stages> to;
        for (matmul_schedule<S> schedule(plan, rank); schedule.more(); schedule.next()) {
            const matmul_tile tile = schedule.tile();
            if (!schedule.exists(tile)) continue;
            const auto scales = epilogue.scales_of(tile, tile.m + row);
            const auto load = [&](int k) { return epilogue.load(scales, k); };
            decltype(load(0)) loaded[ahead];
#pragma unroll
            for (int i = 0; i < ahead; i++) loaded[i] = load(i);
            for (int first = 0; first < plan.slices; first += ahead) {
#pragma unroll
                for (int i = 0; i < ahead; i++) {
                    const factors f = epilogue.of(loaded[i]);
                    loaded[i] = load(first + i + ahead);
                    if (first + i >= plan.slices) continue; /* with a break, copies of registers wait for loads */
                    mbarrier_wait_parity(read(to.stage), to.phase ^ 1);
                    store(place(to.stage, pair), f);
                    tell(memory.full(to.stage));
                    to.next();
                }
            }
        }
    }
    /* Of the thread's rows, once the stage is full. */
    __device__ factors take(int stage, int group) const {
        return load(place(stage, fragment_row(group) / 16 * 8 + (int)threadIdx.x % 32 / 4));
    }
};

}  // namespace ridge

#endif
