/* Attention on Blackwell, in one pass: a block has two tiles of 128 queries of a head, for which keys and values come step by
 * step. Scores, P and sums are in tensor memory.
 *
 *   warp 0        one thread keeps steps of K and of V in flight (TMA), and Q of both tiles
 *   warp 1        one thread starts all products: scores = Q K^T, then sums += P V, whose operand P is in tensor memory
 *   warp 2        allocates tensor memory
 *   warps 4-11    a warpgroup a tile, a thread a row: scores from tensor memory, their exponentials, P to tensor memory; the result
 *
 * One tile's products run while the other one's exponentials are taken: the thread that starts them goes from P V of a tile to
 * the tile's next scores, then to the other tile.
 *
 * P takes the columns of its scores. It is written when all of them are in registers; and the next scores are written over it by
 * a product that the same thread starts behind P V. Products of a CTA are taken to run in their order, as those of one
 * accumulator are promised to.
 *
 * A commit tells of all products before it. So who has the scores of a step knows that P V of the step before is done, and may
 * multiply sums without another barrier: that is rare, since the maximum lags as it does on Hopper (forward.cuh). */
#ifndef RIDGE_ATTENTION_TENSOR_CUH
#define RIDGE_ATTENTION_TENSOR_CUH

#include "attention/products.cuh"
#include "attention/tensor_row.cuh"
#include "cuda/mma/sm100.cuh"
#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* Depth: dimensions of q, k and v, which the tile pads; Shaped, Lie: see attention_shape. M: queries of a block, `rows` those of a
 * tile. */
template <typename Type, int Depth, bool Shaped, attention_keys_lie Lie = attention_keys_lie::in_rows>
struct attention_tensor_shape {
    using T = Type;
    using O = Type;
    static constexpr int D = Depth, V = Depth, N = 128, tiles = 2, rows = 128, M = tiles * rows,
                         stages = D > 64 ? 2 : 4;
    static constexpr int threads = 128 * (1 + tiles);
    static constexpr bool shaped = Shaped, packed = false, parted = false, paged = false;
    static constexpr bool varlen = Lie == attention_keys_lie::in_sequences, spans = varlen;
    static constexpr int q_bytes = rows * D * 2, k_bytes = N * D * 2, v_bytes = N * V * 2;
    static constexpr int bytes = tiles * q_bytes + stages * (k_bytes + v_bytes);
    static constexpr int sums_at = tiles * N, columns = 512; /* of tensor memory: scores of both tiles, their sums */
    static constexpr int first_registers = 56, row_registers = 224;
    static_assert(D % 64 == 0 && D <= 128 && sums_at + tiles * V <= columns, "boxes; tensor memory");
    static_assert(Lie != attention_keys_lie::in_pages, "a thread loads");
    static_assert(bytes <= 226 * 1024, "shared memory");
    static_assert(first_registers + tiles * row_registers <= registers_of_warpgroups(threads),
                  "setmaxnreg would wait for registers that the block has not");
};
/* One of the tiles. */
template <class S>
struct attention_tensor_tile : S {
    static constexpr int M = S::rows;
};

/* Barriers in shared memory: full, and empty where what fills it waits. */
template <class S>
struct attention_tensor_shared {
    uint64_t q_full[S::tiles], q_empty[S::tiles];
    uint64_t k_full[S::stages], k_empty[S::stages], v_full[S::stages], v_empty[S::stages];
    uint64_t scores_full[S::tiles], p_full[S::tiles];
    uint64_t sums_full[S::tiles]; /* with all steps of a tile */
    uint32_t columns;             /* tensor memory's address */

    __device__ void init(void) {
        const auto one = [](uint64_t &barrier) { mbarrier_init(shared_address(&barrier), 1); };
        for (int t = 0; t < S::tiles; t++) {
            one(q_full[t]), one(q_empty[t]), one(scores_full[t]), one(sums_full[t]);
            mbarrier_init(shared_address(&p_full[t]), 4); /* a warp's word each */
        }
        for (int s = 0; s < S::stages; s++) one(k_full[s]), one(k_empty[s]), one(v_full[s]), one(v_empty[s]);
        fence_mbarrier_init();
    }
};
/* Where operands and sums are. */
template <class S>
struct attention_tensor_memory {
    attention_tensor_shared<S> *barriers;
    uint32_t operands, columns;
    __device__ uint32_t q(int tile) const { return operands + (uint32_t)(tile * S::q_bytes); }
    __device__ uint32_t k(int stage) const { return q(S::tiles) + (uint32_t)(stage * S::k_bytes); }
    __device__ uint32_t v(int stage) const { return k(S::stages) + (uint32_t)(stage * S::v_bytes); }
    __device__ uint32_t scores(int tile) const { return columns + (uint32_t)(tile * S::N); }
    __device__ uint32_t p(int tile) const { return scores(tile); }
    __device__ uint32_t sums(int tile) const { return columns + (uint32_t)(S::sums_at + tile * S::V); }
};

/* By all threads. */
template <class S>
__device__ inline attention_tensor_memory<S> attention_tensor_begin(const attention_maps &maps, const uint8_t *operands,
                                                                    attention_tensor_shared<S> *shared) {
    if (threadIdx.x / 32 == 2) tcgen05_alloc(shared_address(&shared->columns), S::columns);
    if (threadIdx.x == 0) {
        prefetch_tensormap(&maps.q), prefetch_tensormap(&maps.k), prefetch_tensormap(&maps.v);
        shared->init();
    }
    tcgen05_fence_before_thread_sync();
    __syncthreads();
    tcgen05_fence_after_thread_sync();
    return {shared, shared_address(operands), shared->columns};
}
template <class S>
__device__ inline void attention_tensor_end(const attention_tensor_memory<S> &memory) {
    tcgen05_fence_before_thread_sync();
    __syncwarp();
    __syncthreads();
    if (threadIdx.x / 32 == 2) tcgen05_dealloc(memory.columns, S::columns);
}

/* ---- tiles and steps ---- */

template <class S>
__device__ inline attention_place attention_tensor_place(attention_place place, int tile) {
    place.m += tile * S::rows;
    return place;
}
/* Steps of the block, of which each tile has some. */
template <class S>
struct attention_tensor_steps {
    attention_steps all = {INT32_MAX, -1}, of[S::tiles];

    __device__ attention_tensor_steps(const attention_args &a, const attention_place &place) {
#pragma unroll
        for (int t = 0; t < S::tiles; t++) {
            of[t] = of_tile(a, attention_tensor_place<S>(place, t));
            if (of[t].none()) continue;
            all.first = min(all.first, of[t].first), all.last = max(all.last, of[t].last);
        }
    }
    __device__ bool has(int tile, int step) const { return step >= of[tile].first && step <= of[tile].last; }
    __device__ static attention_steps of_tile(const attention_args &a, const attention_place &place) {
        if (place.m >= attention_row_end<S>(a, place)) return {0, -1};
        return attention_steps_of<attention_tensor_tile<S>>(a, place);
    }
};

/* ---- loads ---- */

/* By one thread. */
template <class S>
__device__ inline void attention_tensor_load(const attention_maps &maps, const attention_args &a,
                                             const attention_tensor_memory<S> &memory) {
    const attention_tensor_shared<S> &at = *memory.barriers;
    ring<S::stages> k, v;
    ring<1> q[S::tiles];
    const auto wait = [](const uint64_t &empty, int phase) { mbarrier_wait_parity(shared_address(&empty), phase ^ 1); };
    for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const attention_tensor_steps<S> steps(a, place);
        if (steps.all.none()) continue;
        const auto load_k = [&](int step) {
            wait(at.k_empty[k.stage], k.phase);
            load_lines<S::N, S::D>(memory.k(k.stage), &maps.k, shared_address(&at.k_full[k.stage]), step * S::N,
                                   place.kv_head, place.batch);
            k.next();
        };
        const auto load_v = [&](int step) {
            wait(at.v_empty[v.stage], v.phase);
            load_lines<S::N, S::V>(memory.v(v.stage), &maps.v, shared_address(&at.v_full[v.stage]), step * S::N,
                                   place.kv_head, place.batch);
            v.next();
        };
        load_k(steps.all.last);
#pragma unroll
        for (int t = 0; t < S::tiles; t++) {
            if (steps.of[t].none()) continue;
            wait(at.q_empty[t], q[t].phase);
            load_lines<S::rows, S::D>(memory.q(t), &maps.q, shared_address(&at.q_full[t]), place.m + t * S::rows,
                                      place.head, place.batch);
            q[t].next();
        }
        for (int step = steps.all.last; step > steps.all.first; step--) load_k(step - 1), load_v(step);
        load_v(steps.all.first);
    }
    for (int s = 0; s < S::stages; s++, k.next(), v.next()) /* no commit is on its way to a block that is gone */
        wait(at.k_empty[k.stage], k.phase), wait(at.v_empty[v.stage], v.phase);
}

/* ---- products ---- */

/* By one thread. */
template <class S>
struct attention_tensor_products {
    const attention_args &a;
    const attention_tensor_memory<S> &memory;
    const attention_tensor_shared<S> &at;
    ring<S::stages> k, v; /* of the step at hand */
    ring<1> q[S::tiles], p[S::tiles];

    __device__ attention_tensor_products(const attention_args &args, const attention_tensor_memory<S> &m)
        : a(args), memory(m), at(*m.barriers) {}
    __device__ static void commit(const uint64_t &barrier) { tcgen05_commit(shared_address(&barrier)); }
    __device__ static void wait(const uint64_t &full, int phase) { mbarrier_wait_parity(shared_address(&full), phase); }

    /* Scores of a step, of a tile that has it. */
    __device__ void multiply_q(const attention_steps &steps, int tile, int step) {
        constexpr uint32_t instruction = tcgen05_instruction_f16<typename S::T, S::rows, S::N, true, true>();
        if (step == steps.last) wait(at.q_full[tile], q[tile].phase), q[tile].next();
        wait(at.k_full[k.stage], k.phase);
        const uint64_t left = tcgen05_descriptor(memory.q(tile), 0), right = tcgen05_descriptor(memory.k(k.stage), 0);
#pragma unroll
        for (int i = 0; i < S::D / 16; i++) {
            const int chunk = i / 4, slice = i % 4 * tcgen05_step<true>;
            tcgen05_mma_f16(memory.scores(tile), left + (uint64_t)(chunk * (S::rows * 128 >> 4) + slice),
                            right + (uint64_t)(chunk * (S::N * 128 >> 4) + slice), instruction, i > 0);
        }
        commit(at.scores_full[tile]);
        if (step == steps.first) commit(at.q_empty[tile]);
    }
    /* Sums (+)= P V. */
    __device__ void multiply_p(const attention_steps &steps, int tile, int step) {
        constexpr uint32_t instruction = tcgen05_instruction_f16<typename S::T, S::rows, S::V, true, false>();
        wait(at.p_full[tile], p[tile].phase), p[tile].next();
        tcgen05_fence_after_thread_sync();
        wait(at.v_full[v.stage], v.phase);
        const uint64_t right = tcgen05_descriptor(memory.v(v.stage), S::N * 128);
#pragma unroll 4 /* for all eight the warp has no registers */
        for (int i = 0; i < S::N / 16; i++)
            tcgen05_mma_f16_of_tensor(memory.sums(tile), memory.p(tile) + (uint32_t)(i * 8),
                                      right + (uint64_t)(i * tcgen05_step<false>), instruction,
                                      i > 0 || step < steps.last);
        if (step == steps.first) commit(at.sums_full[tile]);
    }
    /* P V of a step, and scores of the one after it, tile by tile. */
    __device__ void advance(const attention_tensor_steps<S> &steps, int step) {
#pragma unroll
        for (int t = 0; t < S::tiles; t++) {
            if (steps.has(t, step)) multiply_p(steps.of[t], t, step);
            if (steps.has(t, step - 1)) multiply_q(steps.of[t], t, step - 1);
        }
        commit(at.v_empty[v.stage]), v.next();
        if (step > steps.all.first) commit(at.k_empty[k.stage]), k.next();
    }
    __device__ void run(void) {
        for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
            const attention_tensor_steps<S> steps(a, schedule.place());
            if (steps.all.none()) continue;
#pragma unroll
            for (int t = 0; t < S::tiles; t++)
                if (steps.has(t, steps.all.last)) multiply_q(steps.of[t], t, steps.all.last);
            commit(at.k_empty[k.stage]), k.next();
            for (int step = steps.all.last; step >= steps.all.first; step--) advance(steps, step);
        }
    }
};

/* ---- rows ---- */

/* By a warpgroup: a tile of each of the block's places. */
template <class S>
struct attention_tensor_rows {
    const attention_args &a;
    const attention_tensor_memory<S> &memory;
    int tile;
    ring<1> scores_full, sums_full;
    attention_tensor_row<S> row;

    __device__ attention_tensor_rows(const attention_args &args, const attention_tensor_memory<S> &m, int which)
        : a(args), memory(m), tile(which), row(args) {}
    __device__ void wait(const uint64_t (&full)[S::tiles], ring<1> *at) const {
        mbarrier_wait_parity(shared_address(&full[tile]), at->phase);
        at->next();
        tcgen05_fence_after_thread_sync();
    }
    /* Scores of a step to P. first: the tile has no sums yet. */
    __device__ void advance(int step, bool first) {
        unsigned words[S::N];
        float scores[S::N];
        wait(memory.barriers->scores_full, &scores_full);
#pragma unroll
        for (int i = 0; i < S::N; i += 32) tcgen05_ld_x32(words + i, tensor_lanes(memory.scores(tile) + (uint32_t)i));
        tcgen05_wait_ld(words);
#pragma unroll
        for (int i = 0; i < S::N; i++) scores[i] = __uint_as_float(words[i]);
        row.apply(scores, step);
        const float by = row.follow(scores);
        if (!first && __any_sync(0xffffffffu, by != 1.0f)) attention_tensor_rescale<S>(memory.sums(tile), by);
        row.put(scores, memory.p(tile));
        tcgen05_wait_st();
        tcgen05_fence_before_thread_sync();
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&memory.barriers->p_full[tile]));
    }
    __device__ void run(void) {
        for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
            const attention_place place = attention_tensor_place<S>(schedule.place(), tile);
            const attention_steps steps = attention_tensor_steps<S>::of_tile(a, place);
            if (steps.none()) {
                for (int half = 0; half < S::rows / 64; half++) attention_store_none<S>(a, place, half);
                continue;
            }
            row.begin(place);
            for (int step = steps.last; step >= steps.first; step--) advance(step, step == steps.last);
            wait(memory.barriers->sums_full, &sums_full);
            attention_tensor_store<S>(a, place, row.query, memory.sums(tile), row.end());
        }
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    attention_tensor_kernel(const __grid_constant__ attention_maps maps, const __grid_constant__ attention_args a) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    extern __shared__ __align__(1024) uint8_t attention_shared[]; /* the swizzle begins at multiples of 1024 */
    __shared__ attention_tensor_shared<S> shared;
    const int group = value_of_warp((int)threadIdx.x / 128) - 1;
    const attention_tensor_memory<S> memory = attention_tensor_begin(maps, attention_shared, &shared);
    after_previous_launch();
    if (group < 0) {
        setmaxnreg_dec<S::first_registers>();
        if (threadIdx.x == 0) attention_tensor_load<S>(maps, a, memory);
        if (threadIdx.x == 32) attention_tensor_products<S>(a, memory).run();
    } else {
        setmaxnreg_inc<S::row_registers>();
        attention_tensor_rows<S>(a, memory, group).run();
    }
    attention_tensor_end(memory);
#else
    __trap(); /* launched on compute capability 10.0 alone */
#endif
}

}  // namespace ridge

#endif
