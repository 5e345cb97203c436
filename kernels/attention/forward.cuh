/* Attention on Hopper, in one pass: for a tile of 64 queries a warpgroup, keys and values come step by step, and the
 * scores of a step never leave registers.
 *
 *   producer     one thread of the first warpgroup keeps two steps of K and of V in flight (TMA)
 *   consumers    warpgroups: scores = Q K^T (wgmma), their exponentials, sums += P V (wgmma, P from registers)
 *
 * The tensor cores and the units of exponentials work at the same time, in two ways. Within a warpgroup the scores of
 * the next step are under way together with P V of this one, and their exponentials are taken while P V still runs.
 * And warpgroups take turns in issuing products (order): one's exponentials fall into the others' products.
 *
 * Sums are relative to a maximum that may lag: it follows the row's only when that is more than 2^LAG times larger, so
 * that rescaling, which all sums wait for, is rare. fp32 has room for 2^LAG n, and the quotient does not see it. */
#ifndef RIDGE_ATTENTION_FORWARD_CUH
#define RIDGE_ATTENTION_FORWARD_CUH

#include "attention/schedule.cuh"
#include "attention/scores.cuh"
#include "cuda/epilogue/store.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* Shared memory: Q, then stages of K, then of V, then barriers. Operands lie as TMA leaves boxes of 64 columns. A block
 * counts the steps of all its tiles. */
template <class S>
struct attention_memory {
    uint32_t base;
    __device__ uint32_t q(void) const { return base; }
    __device__ uint32_t k(int step) const { return base + (uint32_t)(S::q_bytes + step % S::stages * S::k_bytes); }
    __device__ uint32_t v(int step) const {
        return base + (uint32_t)(S::q_bytes + S::stages * S::k_bytes + step % S::stages * S::v_bytes);
    }
    __device__ uint32_t barrier(int number) const {
        return base + (uint32_t)(S::q_bytes + S::stages * (S::k_bytes + S::v_bytes) + 8 * number);
    }
    __device__ uint32_t q_full(void) const { return barrier(0); }
    __device__ uint32_t q_empty(void) const { return barrier(1); }
    __device__ uint32_t k_full(int step) const { return barrier(2 + step % S::stages); }
    __device__ uint32_t k_empty(int step) const { return barrier(2 + S::stages + step % S::stages); }
    __device__ uint32_t v_full(int step) const { return barrier(2 + 2 * S::stages + step % S::stages); }
    __device__ uint32_t v_empty(int step) const { return barrier(2 + 3 * S::stages + step % S::stages); }
    /* Of the barriers of a block's step number `step`. */
    __device__ static int phase(int step) { return step / S::stages % 2; }

    __device__ void init(void) const {
        mbarrier_init(q_full(), 1), mbarrier_init(q_empty(), S::groups);
        for (int s = 0; s < S::stages; s++) {
            mbarrier_init(k_full(s), 1), mbarrier_init(k_empty(s), S::groups);
            mbarrier_init(v_full(s), 1), mbarrier_init(v_empty(s), S::groups);
        }
        fence_mbarrier_init();
    }
};

template <class S>
constexpr int attention_shared_bytes = S::q_bytes + S::stages *(S::k_bytes + S::v_bytes) + 8 * (2 + 4 * S::stages);

/* ---- producer ---- */

/* Lines [line, line + Lines) of a head: boxes of 64 columns. */
template <int Lines, int Columns>
__device__ inline void load_lines(uint32_t to, const CUtensorMap *map, uint32_t barrier, int line, int head,
                                  int batch) {
    mbarrier_arrive_expect_tx(barrier, Lines * Columns * 2);
#pragma unroll
    for (int c = 0; c < Columns / 64; c++)
        cp_async_bulk_tensor_4d(to + (uint32_t)(c * Lines * 128), map, barrier, c * 64, line, head, batch);
}

template <class S>
__device__ inline void attention_produce(const attention_maps &maps, const attention_args &a,
                                         const attention_memory<S> &memory) {
    int k_step = 0, v_step = 0, q_phase = 0;
    for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const attention_steps steps = attention_steps_of<S>(a, place);
        if (steps.none()) continue;
        const auto load_k = [&](int step) {
            mbarrier_wait_parity(memory.k_empty(k_step), memory.phase(k_step) ^ 1);
            load_lines<S::N, S::D>(memory.k(k_step), &maps.k, memory.k_full(k_step), step * S::N, place.kv_head,
                                   place.batch);
            k_step++;
        };
        const auto load_v = [&](int step) {
            mbarrier_wait_parity(memory.v_empty(v_step), memory.phase(v_step) ^ 1);
            load_lines<S::N, S::V>(memory.v(v_step), &maps.v, memory.v_full(v_step), step * S::N, place.kv_head,
                                   place.batch);
            v_step++;
        };
        load_k(steps.last);
        if constexpr (!S::packed) {
            mbarrier_wait_parity(memory.q_empty(), q_phase ^ 1);
            load_lines<S::M, S::D>(memory.q(), &maps.q, memory.q_full(), place.m, place.head, place.batch);
            q_phase ^= 1;
        }
        for (int step = steps.last; step > steps.first; step--) load_k(step - 1), load_v(step);
        load_v(steps.first);
    }
}

/* ---- consumers ---- */

/* scores = Q K^T: the warpgroup's 64 queries, all keys of a stage. */
template <class S>
__device__ inline void multiply_keys(float (&scores)[S::scores], uint32_t q, uint32_t k, int group) {
    const uint64_t left = wgmma_descriptor(q + (uint32_t)(group * 64 * 128), 0), right = wgmma_descriptor(k, 0);
#pragma unroll
    for (int i = 0; i < S::D / 16; i++) {
        const int chunk = i / 4, slice = i % 4 * wgmma_step<true>;
        wgmma<typename S::T, S::N, true, true>(scores, left + (uint64_t)(chunk * (S::M * 128 >> 4) + slice),
                                               right + (uint64_t)(chunk * (S::N * 128 >> 4) + slice), i > 0);
    }
    wgmma_commit_group();
}
/* sums (+)= P V. */
template <class S>
__device__ inline void multiply_values(float (&sums)[S::sums], const unsigned (&p)[S::N / 16][4], uint32_t v,
                                       int accumulate) {
    const uint64_t right = wgmma_descriptor(v, S::N * 128);
#pragma unroll
    for (int i = 0; i < S::N / 16; i++)
        wgmma_rs<typename S::T, S::V, false>(sums, p[i], right + (uint64_t)(i * wgmma_step<false>),
                                             i > 0 ? 1 : accumulate);
    wgmma_commit_group();
}

/* Warpgroups issue products one after the other; each lets the next one go. */
template <class S, bool Alone = S::groups == 1>
struct product_order {
    int group;
    __device__ int number(int g) const { return 1 + S::groups + g; }
    __device__ void open(void) const {
        if (group == S::groups - 1) bar_arrive<256>(number(0));
    }
    __device__ void wait(void) const { bar_sync<256>(number(group)); }
    __device__ void pass_on(void) const { bar_arrive<256>(number((group + 1) % S::groups)); }
    /* Takes back what nobody waits for. */
    __device__ void close(void) const {
        if (group == 0) bar_sync<256>(number(0));
    }
};

/* One warpgroup has nobody to wait for. */
template <class S>
struct product_order<S, true> {
    int group;
    __device__ void open(void) const {}
    __device__ void wait(void) const {}
    __device__ void pass_on(void) const {}
    __device__ void close(void) const {}
};

/* Packed rows of Q to its place, as TMA would leave them: by the warpgroup itself, since their lines lie apart. */
template <class S>
__device__ inline void load_packed(const attention_args &a, const attention_place &place, uint32_t to) {
    constexpr int pieces = S::D / 8; /* of a row */
#pragma unroll 1
    for (int i = thread_of_warpgroup(); i < S::M * pieces; i += 128) {
        const int line = i / pieces, piece = i % pieces, row = place.m + line;
        uint4 v = {0, 0, 0, 0};
        if (row < attention_rows<S>(a) && piece * 8 < a.depth)
            v = *(const uint4 *)((const typename S::T *)a.q + attention_query<S>(a, row) * a.q_strides.row +
                                 place.batch * a.q_strides.batch + attention_head<S>(a, place, row) * a.q_strides.head +
                                 piece * 8);
        st_shared_v4(to + (uint32_t)(piece / 8 * S::M * 128 + swizzle_128B(line, piece % 8)), v);
    }
    fence_proxy_async(); /* before wgmma reads */
    bar_sync<128>(1);
}

/* A warpgroup's part of one tile after the other. */
template <class S>
struct attention_consumer {
    const attention_args &a;
    const attention_memory<S> &memory;
    const product_order<S> &order;
    int group, steps_before; /* of all tiles */

    __device__ void release(uint32_t empty) const {
        if (thread_of_warpgroup() == 0) mbarrier_arrive(empty);
    }

    /* The steps behind the first one: sums are those of all steps but the last, whose P is in p. */
    __device__ void all_steps(const attention_steps &steps, const attention_scores_of<S> &shape, float (&sums)[S::sums],
                              unsigned (&p)[S::N / 16][4], softmax_rows &rows) {
        float scores[S::scores];
        int number = steps_before;
        mbarrier_wait_parity(memory.k_full(number), memory.phase(number));
        wgmma_fence();
        multiply_keys<S>(scores, memory.q(), memory.k(number), group);
        wgmma_wait_group<0>();
        wgmma_settle(scores);
        release(memory.k_empty(number));
        shape.apply(scores, steps.last);
        rows.take<S::scores>(scores, shape.factor());
        round_to_operand<S>(p, scores);
        for (int step = steps.last - 1; step >= steps.first; step--, number++) {
            const int next = number + 1;
            mbarrier_wait_parity(memory.k_full(next), memory.phase(next));
            order.wait();
            wgmma_fence();
            multiply_keys<S>(scores, memory.q(), memory.k(next), group);
            mbarrier_wait_parity(memory.v_full(number), memory.phase(number));
            wgmma_fence();
            multiply_values<S>(sums, p, memory.v(number), step < steps.last - 1);
            order.pass_on();
            wgmma_wait_group<1>();
            wgmma_settle(scores);
            release(memory.k_empty(next));
            shape.apply(scores, step);
            const float2 by = rows.take<S::scores>(scores, shape.factor());
            wgmma_wait_group<0>();
            wgmma_settle(sums);
            keep_operand<S>(p); /* until now */
            wgmma_settle(scores);
            release(memory.v_empty(number));
            round_to_operand<S>(p, scores);
            rescale(sums, by);
        }
    }

    /* sums: of all steps, not yet divided. */
    __device__ void tile(const attention_place &place, const attention_steps &steps) {
        float sums[S::sums];
        unsigned p[S::N / 16][4];
        softmax_rows rows;
        const attention_scores_of<S> shape(a, place, group);
        all_steps(steps, shape, sums, p, rows);
        const int number = steps_before + steps.last - steps.first;
        mbarrier_wait_parity(memory.v_full(number), memory.phase(number));
        wgmma_fence();
        multiply_values<S>(sums, p, memory.v(number), steps.first < steps.last);
        rows.finish(shape.factor(), shape.sink_log2);
        wgmma_wait_group<0>();
        wgmma_settle(sums);
        release(memory.v_empty(number));
        steps_before = number + 1;
        attention_store<S>(a, place, sums, rows, memory.q(), group);
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    attention_kernel(const __grid_constant__ attention_maps maps, const __grid_constant__ attention_args a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    static_assert(attention_shared_bytes<S> <= 227 * 1024, "shared memory");
    extern __shared__ __align__(1024)
        uint8_t attention_shared[]; /* the swizzle's pattern begins at multiples of 1024 */
    const attention_memory<S> memory = {shared_address(attention_shared)};
    const int group = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 0) {
        prefetch_tensormap(&maps.q), prefetch_tensormap(&maps.k), prefetch_tensormap(&maps.v);
        memory.init();
    }
    __syncthreads();
    after_previous_launch();
    if (group < 0) {
        if constexpr (S::groups > 1) setmaxnreg_dec<S::producer_registers>();
        if (threadIdx.x == 0) attention_produce<S>(maps, a, memory);
        return;
    }
    if constexpr (S::groups > 1) setmaxnreg_inc<S::consumer_registers>();
    const product_order<S> order = {group};
    attention_consumer<S> consumer = {a, memory, order, group, 0};
    int q_phase = 0;
    order.open();
    for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const attention_steps steps = attention_steps_of<S>(a, place);
        if (steps.none()) {
            attention_store_none<S>(a, place, group);
            continue;
        }
        if constexpr (S::packed) {
            load_packed<S>(a, place, memory.q());
            consumer.tile(place, steps);
            bar_sync<128>(1); /* all of the result has left Q's place */
            continue;
        }
        mbarrier_wait_parity(memory.q_full(), q_phase);
        q_phase ^= 1;
        consumer.tile(place, steps);
        fence_proxy_async(); /* the result left through Q's place, which TMA writes next */
        bar_sync<128>(1 + group);
        consumer.release(memory.q_empty());
    }
    order.close();
#else
    __trap(); /* launched on Hopper alone */
#endif
}

}  // namespace ridge

#endif
