/* Attention on Hopper, in one pass: for a tile of 64 queries a warpgroup, keys and values come step by step, and the
 * scores of a step never leave registers.
 *
 *   producer     one thread of the first warpgroup (a warp where keys are in pages) keeps two steps of K and of V in
 *                flight (TMA)
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

#include "attention/fp8.cuh"
#include "attention/parts.cuh"
#include "attention/products.cuh"
#include "attention/schedule.cuh"
#include "attention/scores.cuh"
#include "cuda/epilogue/store.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* Shared memory: places of Q, then stages of K, then of V, then barriers. Operands lie as TMA leaves boxes of 64 columns. A
 * block counts its tiles, and the steps of all of them. */
template <class S>
struct attention_memory {
    static constexpr int k_at = S::q_places * S::q_bytes, v_at = k_at + S::stages * S::k_bytes;
    static constexpr int barriers_at = v_at + S::stages * S::v_bytes;
    static constexpr int bytes = barriers_at + 8 * (2 * S::q_places + 4 * S::stages);
    uint32_t base;
    __device__ uint32_t q(int tile) const { return base + (uint32_t)(tile % S::q_places * S::q_bytes); }
    __device__ uint32_t k(int step) const { return base + (uint32_t)(k_at + step % S::stages * S::k_bytes); }
    __device__ uint32_t v(int step) const { return base + (uint32_t)(v_at + step % S::stages * S::v_bytes); }
    __device__ uint32_t of_q(int which, int tile) const {
        return base + (uint32_t)(barriers_at + 8 * (which * S::q_places + tile % S::q_places));
    }
    __device__ uint32_t of_stage(int which, int step) const {
        return base + (uint32_t)(barriers_at + 8 * (2 * S::q_places + which * S::stages + step % S::stages));
    }
    __device__ uint32_t q_full(int tile) const { return of_q(0, tile); }
    __device__ uint32_t q_empty(int tile) const { return of_q(1, tile); }
    __device__ uint32_t k_full(int step) const { return of_stage(0, step); }
    __device__ uint32_t k_empty(int step) const { return of_stage(1, step); }
    __device__ uint32_t v_full(int step) const { return of_stage(2, step); }
    __device__ uint32_t v_empty(int step) const { return of_stage(3, step); }
    /* Of the barriers of a block's step, or tile, of that number. */
    __device__ static int phase(int step) { return step / S::stages % 2; }
    __device__ static int q_phase(int tile) { return tile / S::q_places % 2; }

    __device__ void init(void) const {
        for (int t = 0; t < S::q_places; t++) mbarrier_init(q_full(t), 1), mbarrier_init(q_empty(t), 4 * S::groups);
        for (int s = 0; s < S::stages; s++) {
            mbarrier_init(k_full(s), 1), mbarrier_init(k_empty(s), S::groups);
            mbarrier_init(v_full(s), 1), mbarrier_init(v_empty(s), S::groups);
        }
        fence_mbarrier_init();
    }
};

/* ---- producer ---- */

/* Where keys of a step lie, and their copies: in rows, which are one box of TMA's. */
template <class S, bool Paged = S::paged>
struct attention_source {
    int step;
    __device__ attention_source(const attention_args &, const attention_place &, int number) : step(number) {}
    /* Of K, or of V. */
    template <int Columns>
    __device__ void load(uint32_t to, const CUtensorMap *map, uint32_t barrier, const attention_place &place) const {
        load_lines<S::N, Columns, 0, S::line>(to, map, barrier, step * S::N, place.kv_head, place.batch);
    }
    /* Of values that are transposed: a step's are one piece. */
    __device__ void load_transposed(uint32_t to, const attention_args &a, uint32_t barrier,
                                    const attention_place &place) const {
        const char *const head = (const char *)a.v + place.batch * a.v_strides.batch + place.kv_head * a.v_strides.head;
        mbarrier_arrive_expect_tx(barrier, S::v_bytes);
        cp_async_bulk(to, head + (int64_t)step * S::v_bytes, S::v_bytes, barrier);
    }
};

/* In pages: whole ones, or a part of one. Each lane of a warp has a page, which is looked up once for K and V, and before the
 * places of both are free: with one thread that does it page by page, pages of 16 rows come at a third of the memory's rate.
 * Pages behind the last key are not looked up: TMA fills with zeros what lies behind the tensor. */
template <class S>
struct attention_source<S, true> {
    static_assert(S::N / 8 <= 32, "a page of 8 rows for a lane");
    int line, row = 0, page = 0; /* line: of the step */
    __device__ attention_source(const attention_args &a, const attention_place &place, int step)
        : line((int)threadIdx.x * min(a.pages.size, S::N)) {
        const int key = step * S::N + line;
        if (line >= S::N) return;
        page = key < place.span.keys.end ? a.pages.of(place.batch, key) : a.pages.count;
        row = key % a.pages.size;
    }
    template <int Columns>
    __device__ void load(uint32_t to, const CUtensorMap *map, uint32_t barrier, const attention_place &place) const {
        if (threadIdx.x == 0) mbarrier_arrive_expect_tx(barrier, S::N * Columns * 2);
        __syncwarp();
        if (line >= S::N) return;
#pragma unroll
        for (int c = 0; c < Columns / 64; c++)
            cp_async_bulk_tensor_4d(to + (uint32_t)(c * S::N * 128 + line * 128), map, barrier, c * 64, row,
                                    place.kv_head, page);
    }
};

/* By one thread, or where keys are in pages by a warp. */
template <class S>
__device__ inline void attention_produce(const attention_maps &maps, const attention_args &a,
                                         const attention_memory<S> &memory) {
    int k_step = 0, v_step = 0, tile = 0;
    for (attention_schedule<S> schedule(a); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const attention_steps steps = attention_steps_of<S>(a, place);
        if (steps.none()) continue;
        const auto load_k = [&](const attention_source<S> &source) {
            mbarrier_wait_parity(memory.k_empty(k_step), memory.phase(k_step) ^ 1);
            source.template load<S::line_columns>(memory.k(k_step), &maps.k, memory.k_full(k_step), place);
            k_step++;
        };
        const auto load_v = [&](const attention_source<S> &source) {
            mbarrier_wait_parity(memory.v_empty(v_step), memory.phase(v_step) ^ 1);
            if constexpr (S::fp8)
                source.load_transposed(memory.v(v_step), a, memory.v_full(v_step), place);
            else
                source.template load<S::V>(memory.v(v_step), &maps.v, memory.v_full(v_step), place);
            v_step++;
        };
        attention_source<S> next(a, place, steps.last);
        load_k(next);
        if constexpr (!S::packed) {
            mbarrier_wait_parity(memory.q_empty(tile), memory.q_phase(tile) ^ 1);
            if (threadIdx.x == 0)
                load_lines<S::M, S::line_columns, 0, S::line>(memory.q(tile), &maps.q, memory.q_full(tile), place.m,
                                                              place.head, place.batch);
            tile++;
        }
        for (int step = steps.last; step > steps.first; step--) {
            const attention_source<S> now = next;
            next = attention_source<S>(a, place, step - 1);
            load_k(next), load_v(now);
        }
        load_v(next);
    }
}

/* ---- consumers ---- */

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

/* Zeros in the place of values behind the last key, which are whatever the rest of its page holds: a weight of 0 times an infinity
 * would be NaN. `rows` of the step are keys. By all warpgroups, which read them. */
template <class S>
__device__ inline void clear_values(const attention_args &a, uint32_t v, int rows, int group) {
    const int end = min(S::N, (rows + a.pages.size - 1) / a.pages.size * a.pages.size), pieces = (end - rows) * 8;
    for (int i = group * 128 + thread_of_warpgroup(); i < pieces * (S::V / 64); i += 128 * S::groups)
        st_shared_v4(v + (uint32_t)(i / pieces * S::N * 128 + rows * 128 + i % pieces * 16), uint4{0, 0, 0, 0});
    fence_proxy_async(); /* before wgmma reads */
    bar_sync<128 * S::groups>(1 + 2 * S::groups);
}

/* A block's tiles that have steps; results of the others are stored on the way. */
template <class S>
struct attention_tiles {
    attention_schedule<S> schedule;
    attention_place place;
    attention_steps steps, own; /* of the tile, of this warpgroup */
    int group, number = 0;      /* of the tile, among those of the block that have steps */
    uint32_t room;              /* in shared memory, for the result of a part */

    __device__ attention_tiles(const attention_args &a, int warpgroup, uint32_t shared)
        : schedule(a), group(warpgroup), room(shared) {
        find();
    }
    __device__ bool more(void) const { return schedule.more(); }
    __device__ void next(void) { schedule.next(), number++, find(); }

   private:
    __device__ void find(void) {
        for (; schedule.more(); schedule.next()) {
            place = schedule.place(), steps = attention_steps_of<S>(schedule.a, place);
            own = attention_steps_of_group<S>(schedule.a, place, steps, group);
            if (!steps.none()) return;
            if (S::packed && schedule.a.part_sums)
                store_no_part<S>(schedule.a, place, room);
            else
                attention_store_none<S>(schedule.a, place, group);
        }
    }
};

/* Sums of P V, to which the tensor cores add. */
template <class S, bool Fp8 = S::fp8>
struct attention_sums {
    using rows = softmax_rows;
    float all[S::sums];

    __device__ void restart(void) {}
    /* Under way until settle(). */
    __device__ void multiply(int, const unsigned (&p)[S::p_slices][4], uint32_t v, bool first) {
        multiply_by_lines<S, S::V>(all, p, v, !first);
    }
    __device__ void settle(int) { wgmma_settle(all); }
};

/* A warpgroup's part of one tile after the other. The steps of all tiles are one sequence: a tile's first scores are under
 * way while the last P of the tile before is multiplied, where shared memory and registers suffice. */
template <class S>
struct attention_consumer {
    const attention_maps &maps;
    const attention_args &a;
    const attention_memory<S> &memory;
    const product_order<S> &order;
    int group, number = 0; /* of the step whose P is in p */
    int keys = 0;          /* of a tile's first step, which has the last key */
    attention_sums<S> sums;
    float scores[S::scores];
    unsigned p[S::p_slices][4];
    typename attention_sums<S>::rows rows;

    __device__ attention_consumer(const attention_maps &tensors, const attention_args &args,
                                  const attention_memory<S> &shared, const product_order<S> &products, int warpgroup)
        : maps(tensors), a(args), memory(shared), order(products), group(warpgroup) {}

    /* The next step. */
    __device__ void count(void) { number = value_of_warp(number + 1); }
    /* Releases when `sum`, which is not below 0, is known. Its condition holds always: ptxas would else wait for a product
     * first, and compute what fits beside it afterwards. */
    __device__ void release_behind(uint32_t empty, float sum) const {
        if (thread_of_warpgroup() == 0 && !(sum < 0.0f)) mbarrier_arrive(empty);
    }

    /* Scores of the step of that number: under way. */
    __device__ void multiply_q(int tile, int step) {
        mbarrier_wait_parity(memory.k_full(step), memory.phase(step));
        wgmma_fence();
        const uint32_t q = S::D > 128 ? unkept(memory.q(tile)) : memory.q(tile);
        multiply_lines<S, S::D>(scores, q, memory.k(step), group);
    }
    /* Once a tile's first step is next. */
    __device__ void count_keys(const attention_tiles<S> &tiles) {
        if constexpr (S::paged) keys = tiles.place.span.keys.end - tiles.steps.last * S::N;
    }
    /* Before a warpgroup's turn: all of them meet here, and one that had its turn would never let the others come. */
    __device__ void clear_behind_keys(bool first) const {
        if constexpr (!S::paged) return;
        if (!first || keys >= S::N) return;
        mbarrier_wait_parity(memory.v_full(number), memory.phase(number));
        clear_values<S>(a, memory.v(number), keys, group);
    }
    /* A tile's first step, while nothing else is under way. */
    __device__ void begin(const attention_tiles<S> &tiles, const attention_scores_of<S> &shape) {
        if constexpr (S::packed)
            load_packed<S>(a, tiles.place, memory.q(0));
        else
            mbarrier_wait_parity(memory.q_full(tiles.number), memory.q_phase(tiles.number));
        count_keys(tiles);
        multiply_q(tiles.number, number);
        wgmma_wait_group<0>();
        wgmma_settle(scores);
        release(memory.k_empty(number));
        shape.apply(scores, tiles.own.last);
        rows.template take<S::scores>(scores, shape.factor());
        round_to_operand<S>(p, scores);
    }
    /* The tile of that number has all its sums. factor: of a packed tile. */
    __device__ void end(const attention_place &place, int tile, float factor) {
        if (S::packed && a.part_sums)
            store_part<S>(a, place, sums.all, rows, factor, memory.q(0));
        else
            attention_store<S>(maps, a, place, sums.all, rows, memory.q(tile), group);
        sums.restart();
        if constexpr (S::packed) bar_sync<128>(1); /* all of the result has left Q's place */
        if constexpr (!S::packed && !S::leaves_late) give_q_back(tile);
    }
    /* The place of a tile's queries, once its result has left it: each warp waits for its own rows. */
    __device__ void give_q_back(int tile) const {
        if (threadIdx.x % 32 != 0) return;
        if constexpr (S::sends) cp_async_bulk_wait_group_read<0>();
        mbarrier_arrive(memory.q_empty(tile));
    }
    /* That of the tile before, when a step of this one is under way. */
    __device__ void give_previous_q_back(const attention_tiles<S> &tiles) const {
        if constexpr (S::leaves_late)
            if (tiles.number > 0) give_q_back(tiles.number - 1);
    }

    /* Sums (+)= P V of this step, of that half of V: under way. */
    __device__ void multiply_p(int half, bool first) {
        if (half == 0) mbarrier_wait_parity(memory.v_full(number), memory.phase(number));
        wgmma_fence();
        sums.multiply(half, p, memory.v(number), first);
    }
    /* What comes before the last half. Left: products that are under way behind it. */
    template <int Left>
    __device__ void finish_first_half(void) {
        wgmma_wait_group<Left>();
        sums.settle(0);
    }
    __device__ void finish_sums(void) {
        wgmma_wait_group<0>();
        sums.settle(S::halves - 1);
        keep_operand<S>(p); /* until now */
        release(memory.v_empty(number));
    }

    /* The scores of the next step, `step`, while P of this one is multiplied. Ends: it is the first of the next tile. */
    template <bool Ends>
    __device__ void advance(const attention_tiles<S> &tiles, attention_scores_of<S> &shape, int step, bool first) {
        if constexpr (Ends) mbarrier_wait_parity(memory.q_full(tiles.number), memory.q_phase(tiles.number));
        clear_behind_keys(first);
        order.wait();
        if constexpr (S::halves > 1) multiply_p(0, first);
        multiply_q(tiles.number, number + 1);
        if constexpr (S::halves > 1) order.pass_on(), finish_first_half<1>();
        multiply_p(S::halves - 1, first);
        if constexpr (S::halves == 1) order.pass_on();
        if (!Ends && first) give_previous_q_back(tiles);
        if constexpr (Ends) count_keys(tiles);
        if constexpr (Ends) rows.finish(shape.factor(), shape.sink_log2), shape.of(tiles.place, group);
        wgmma_wait_group<1>();
        wgmma_settle(scores);
        if constexpr (Ends) rows.restart();
        shape.apply(scores, step);
        const float2 by = rows.template take<S::scores>(scores, shape.factor());
        release_behind(memory.k_empty(number + 1), rows.sum[0] + rows.sum[1]);
        finish_sums();
        wgmma_settle(scores);
        count();
        if constexpr (Ends) return; /* P waits until the sums have left */
        round_to_operand<S>(p, scores);
        rescale(sums.all, by);
    }

    /* A step that is masked for all rows of this warpgroup. The other warpgroups wait for its turn, and the producer for its arrival
     * at the empty barriers. Before the step is there, that arrival would count for an earlier step of the same stage. One
     * warp waits for it. Another one, if slow, might find the barrier a phase further and wait for ever. */
    __device__ void skip_turn(void) const { order.wait(), order.pass_on(); }
    __device__ void skip_stages(void) const {
        if (thread_of_warpgroup() >= 32) return;
        mbarrier_wait_parity(memory.k_full(number), memory.phase(number));
        release(memory.k_empty(number));
        mbarrier_wait_parity(memory.v_full(number), memory.phase(number));
        release(memory.v_empty(number));
    }

    __device__ void run(void) {
        attention_tiles<S> tiles(a, group, memory.q(0));
        if (!tiles.more()) return;
        sums.restart();
        attention_scores_of<S> shape(a, tiles.place, group);
        for (bool begun = false;;) {
            const attention_steps own = tiles.own;
            if (own.last < tiles.steps.last) skip_turn(), skip_stages(), count();
            if (!begun) begin(tiles, shape);
            for (int step = own.last; step > own.first; step--)
                advance<false>(tiles, shape, step - 1, step == own.last);
            const bool first = own.last == own.first, skips = own.first > tiles.steps.first;
            if (skips) skip_turn();
            if (first) give_previous_q_back(tiles);
            const attention_place place = tiles.place;
            const int tile = tiles.number;
            tiles.next();
            begun = S::across && tiles.more();
            if (begun) {
                advance<true>(tiles, shape, tiles.steps.last, first);
                end(place, tile, 0.0f);
                round_to_operand<S>(p, scores);
            } else {
                clear_behind_keys(first);
                if constexpr (S::halves > 1) multiply_p(0, first), finish_first_half<0>();
                multiply_p(S::halves - 1, first);
                if (!S::packed || !a.part_sums) rows.finish(shape.factor(), shape.sink_log2);
                finish_sums();
                if (skips) count(), skip_stages();
                end(place, tile, shape.factor());
                if (!tiles.more()) {
                    if constexpr (S::leaves_late) give_q_back(tile);
                    return;
                }
                count(), shape.of(tiles.place, group), rows.restart();
            }
        }
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    attention_kernel(const __grid_constant__ attention_maps maps, const __grid_constant__ attention_args a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    static_assert(attention_memory<S>::bytes <= 227 * 1024, "shared memory");
    static_assert(!S::packed || attention_part<S>::shared_bytes <= attention_memory<S>::v_at, "in Q's place and K's");
    extern __shared__ __align__(1024)
        uint8_t attention_shared[]; /* the swizzle's pattern begins at multiples of 1024 */
    const attention_memory<S> memory = {shared_address(attention_shared)};
    const int group = value_of_warp((int)threadIdx.x / 128) - 1;
    if (threadIdx.x == 0) {
        prefetch_tensormap(&maps.q), prefetch_tensormap(&maps.k), prefetch_tensormap(&maps.v);
        memory.init();
    }
    __syncthreads();
    after_previous_launch();
    if (group < 0) {
        if constexpr (S::groups > 1) setmaxnreg_dec<S::producer_registers>();
        if (threadIdx.x < (S::paged ? 32 : 1)) attention_produce<S>(maps, a, memory);
    } else {
        if constexpr (S::groups > 1) setmaxnreg_inc<S::consumer_registers>();
        const product_order<S> order = {group};
        attention_consumer<S> consumer(maps, a, memory, order, group);
        order.open();
        consumer.run();
        order.close();
    }
    if constexpr (S::packed)
        if (a.clustered) merge_in_cluster<S>(a, memory.q(0));
#else
    __trap(); /* launched on Hopper alone */
#endif
}

}  // namespace ridge

#endif
