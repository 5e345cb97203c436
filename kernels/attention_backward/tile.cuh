/* Attention's gradients on Hopper. A tile owns rows of one side, queries or keys, and the rows of the other side pass by
 * step by step. S and its gradient are computed again and never leave registers:
 *
 *     S = own x passing x^T,  D = own y passing y^T,  P = exp(S - lse),  G = P (D - delta)
 *     gradient of own x += G passing x,  gradient of own y += P passing y
 *
 *     own rows    x, y        passing x, y    gradients
 *     keys        k, v        q, dout         dk, dv
 *     queries     q, dout     k, v            dq
 *
 * Each gradient has one owner, so no sum crosses blocks: results are the same bits each time, without atomics, for
 * seven products in place of the five of one kernel that adds its dq to memory.
 *
 *   producer     one thread of the first warpgroup keeps steps in flight (TMA)
 *   consumers    two warpgroups of 64 own rows: products by wgmma, P and G from registers; one's exponentials fall into
 *                the other's products */
#ifndef RIDGE_ATTENTION_BACKWARD_TILE_CUH
#define RIDGE_ATTENTION_BACKWARD_TILE_CUH

#include "attention_backward/gradient.cuh"
#include "attention/products.cuh"
#include "attention/scores.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

struct backward_maps {
    CUtensorMap own_x, own_y, x, y; /* [batch, head, row, dimension] */
};

/* Shared memory: own x and y, stages of x, of y, of statistics (where queries
 * pass; they come with x), then barriers. A block counts the
 * steps of all its tiles. */
template <class S>
struct backward_memory {
    static constexpr int x_at = S::own_x_bytes + S::own_y_bytes, y_at = x_at + S::x_stages * S::x_bytes;
    static constexpr int lse_at = y_at + S::y_stages * S::y_bytes;
    static constexpr int delta_at = lse_at + S::x_stages * S::statistic_bytes;
    static constexpr int barriers_at = delta_at + S::x_stages * S::statistic_bytes;
    static constexpr int bytes = barriers_at + 8 * (2 + 2 * S::x_stages + 2 * S::y_stages);
    uint32_t base;

    __device__ uint32_t own_x(void) const { return base; }
    __device__ uint32_t own_y(void) const { return base + (uint32_t)S::own_x_bytes; }
    __device__ uint32_t x(int step) const { return base + (uint32_t)(x_at + step % S::x_stages * S::x_bytes); }
    __device__ uint32_t y(int step) const { return base + (uint32_t)(y_at + step % S::y_stages * S::y_bytes); }
    __device__ uint32_t lse(int step) const {
        return base + (uint32_t)(lse_at + step % S::x_stages * S::statistic_bytes);
    }
    __device__ uint32_t delta(int step) const {
        return base + (uint32_t)(delta_at + step % S::x_stages * S::statistic_bytes);
    }
    __device__ uint32_t barrier(int number) const { return base + (uint32_t)(barriers_at + 8 * number); }
    __device__ uint32_t own_full(void) const { return barrier(0); }
    __device__ uint32_t own_empty(void) const { return barrier(1); }
    __device__ uint32_t x_full(int step) const { return barrier(2 + step % S::x_stages); }
    __device__ uint32_t x_empty(int step) const { return barrier(2 + S::x_stages + step % S::x_stages); }
    __device__ uint32_t y_full(int step) const { return barrier(2 + 2 * S::x_stages + step % S::y_stages); }
    __device__ uint32_t y_empty(int step) const {
        return barrier(2 + 2 * S::x_stages + S::y_stages + step % S::y_stages);
    }
    /* Of the barriers of a block's step number `step`. */
    __device__ static int x_phase(int step) { return step / S::x_stages % 2; }
    __device__ static int y_phase(int step) { return step / S::y_stages % 2; }

    __device__ void init(void) const {
        mbarrier_init(own_full(), S::own_y_bytes > 0 ? 2 : 1), mbarrier_init(own_empty(), S::groups);
        for (int s = 0; s < S::x_stages; s++) mbarrier_init(x_full(s), 1), mbarrier_init(x_empty(s), S::groups);
        for (int s = 0; s < S::y_stages; s++) mbarrier_init(y_full(s), 1), mbarrier_init(y_empty(s), S::groups);
        fence_mbarrier_init();
    }
};

/* ---- producer ---- */

template <class S>
__device__ inline void backward_produce(const backward_maps &maps, const backward_args &b,
                                        const backward_memory<S> &memory) {
    int number = 0, phase = 0;
    for (attention_schedule<S> schedule(b.own); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const backward_walk all = backward_walk_of<S>(b, place, 0);
        if (all.end == 0) continue;
        mbarrier_wait_parity(memory.own_empty(), phase ^ 1), phase ^= 1;
        load_lines<S::M, S::D>(memory.own_x(), &maps.own_x, memory.own_full(), place.m, place.head, place.batch);
        if constexpr (S::own_y_bytes > 0)
            load_lines<S::M, S::V>(memory.own_y(), &maps.own_y, memory.own_full(), place.m, place.head, place.batch);
        for (int i = all.first; i < all.end; i++) {
            const backward_walk walk = backward_walk_of<S>(b, place, i);
            for (int s = 0; s < walk.count; s++, number++) {
                const int head = place.kv_head * b.shared + i, line = (walk.step + s) * S::N;
                mbarrier_wait_parity(memory.x_empty(number), memory.x_phase(number) ^ 1);
                load_lines<S::N, S::D, 2 * S::statistic_bytes>(memory.x(number), &maps.x, memory.x_full(number), line,
                                                               head, place.batch);
                if constexpr (S::of_keys) {
                    const int64_t at = backward_place(b, place, i) + line;
                    cp_async_bulk(memory.lse(number), b.lse + at, S::statistic_bytes, memory.x_full(number));
                    cp_async_bulk(memory.delta(number), b.delta + at, S::statistic_bytes, memory.x_full(number));
                }
                mbarrier_wait_parity(memory.y_empty(number), memory.y_phase(number) ^ 1);
                load_lines<S::N, S::V>(memory.y(number), &maps.y, memory.y_full(number), line, head, place.batch);
            }
        }
    }
}

/* ---- consumers ---- */

/* A warpgroup's part of one tile after the other. */
template <class S>
struct backward_consumer {
    const backward_args &b;
    const backward_memory<S> &memory;
    int group, number; /* of the step, among those of all tiles */

    __device__ void step(const backward_rows<S> &rows, int line, float (&sums_x)[S::sums_x], float (&sums_y)[S::sums_y],
                         int accumulate) {
        float scores[S::scores], gradient[S::scores];
        unsigned p[S::N / 16][4], g[S::N / 16][4];
        mbarrier_wait_parity(memory.x_full(number), memory.x_phase(number));
        wgmma_fence();
        multiply_lines<S, S::D>(scores, unkept(memory.own_x()), memory.x(number), group);
        mbarrier_wait_parity(memory.y_full(number), memory.y_phase(number));
        if constexpr (S::of_x) {
            wgmma_fence();
            multiply_lines<S, S::V>(gradient, unkept(memory.own_y()), memory.y(number), group);
        }
        const auto take_gradient = [&] {
            wgmma_settle(gradient);
            if constexpr (!S::of_y) release(memory.y_empty(number));
            rows.gradients(gradient, scores, memory.delta(number));
            round_to_operand<S>(g, gradient);
        };
        wgmma_wait_group<S::of_x && !S::shaped ? 1 : 0>();
        wgmma_settle(scores);
        if constexpr (S::of_x && S::shaped) wgmma_settle(gradient);
        rows.probabilities(scores, gradient, memory.lse(number), memory.delta(number), line);
        if constexpr (S::of_x && S::shaped) take_gradient(); /* before P as an operand: registers are few */
        if constexpr (S::of_y) {
            round_to_operand<S>(p, scores);
            wgmma_fence();
            multiply_by_lines<S, S::V>(sums_y, p, memory.y(number), accumulate);
        }
        if constexpr (S::of_x) {
            if constexpr (!S::shaped) {
                wgmma_wait_group<S::of_y ? 1 : 0>();
                take_gradient();
            }
            wgmma_fence();
            multiply_by_lines<S, S::D>(sums_x, g, memory.x(number), accumulate);
        }
        wgmma_wait_group<0>();
        if constexpr (S::of_y) wgmma_settle(sums_y), keep_operand<S>(p), release(memory.y_empty(number));
        if constexpr (S::of_x) wgmma_settle(sums_x), keep_operand<S>(g);
        release(memory.x_empty(number));
    }

    __device__ void store(const attention_place &place, float (&sums_x)[S::sums_x], float (&sums_y)[S::sums_y]) const {
        if constexpr (S::of_x) {
            for (float &x : sums_x) x *= b.own.scale;
            wgmma_settle(sums_x); /* multiplied once, whichever way they leave */
        }
        if constexpr (S::parted) {
            if constexpr (S::of_x) store_part<S::D>(b, b.part_x, place, group, b.dx.columns, sums_x);
            if constexpr (S::of_y) store_part<S::V>(b, b.part_y, place, group, b.dy.columns, sums_y);
            return;
        }
        if constexpr (S::of_x) store_gradient<S, S::D>(b.own, b.dx, place, memory.own_x(), group, sums_x);
        if constexpr (S::of_y)
            store_gradient<S, S::V>(b.own, b.dy, place, S::of_x ? memory.own_y() : memory.own_x(), group, sums_y);
    }

    /* A tile as a whole. */
    __device__ void tile(const attention_place &place, const attention_steps &steps) {
        float sums_x[S::sums_x], sums_y[S::sums_y];
        backward_rows<S> rows = {b, place.m + group * 64};
        for (int i = 0; i < b.shared; i++) {
            rows.of_head(place, i);
            for (int step = steps.first; step <= steps.last; step++, number++)
                this->step(rows, step * S::N, sums_x, sums_y, i > 0 || step > steps.first);
        }
        store(place, sums_x, sums_y);
    }
    /* A part of one. Its place is found again for each head: there are no registers to keep it. */
    __device__ void part(const attention_schedule<S> &schedule, int first_head) {
        float sums_x[S::sums_x], sums_y[S::sums_y];
        backward_rows<S> rows = {b, schedule.place().m + group * 64};
        for (float &x : sums_x) x = 0.0f;
        for (float &y : sums_y) y = 0.0f;
        for (int i = first_head;; i++) {
            const attention_place place = schedule.place_again();
            const backward_walk walk = backward_walk_of<S>(b, place, i);
            if (i >= walk.end) break;
            const int behind = walk.step - number; /* of the number of the step, its place */
            rows.of_head(place, i);
            for (const int end = number + walk.count; number < end; number++)
                step(rows, (number + behind) * S::N, sums_x, sums_y, 1);
        }
        store(schedule.place_again(), sums_x, sums_y);
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1)
    attention_backward_kernel(const __grid_constant__ backward_maps maps, const __grid_constant__ backward_args b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    static_assert(backward_memory<S>::bytes <= 227 * 1024, "shared memory");
    extern __shared__ __align__(1024) uint8_t backward_shared[]; /* the swizzle's pattern begins at multiples of 1024 */
    const backward_memory<S> memory = {shared_address(backward_shared)};
    const int group =
        __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0) - 1; /* the compiler sees a warp's one value */
    if (threadIdx.x == 0) {
        prefetch_tensormap(&maps.own_x), prefetch_tensormap(&maps.own_y);
        prefetch_tensormap(&maps.x), prefetch_tensormap(&maps.y);
        memory.init();
    }
    __syncthreads();
    after_previous_launch();
    if (group < 0) {
        setmaxnreg_dec<S::producer_registers>();
        if (threadIdx.x == 0) backward_produce<S>(maps, b, memory);
        return;
    }
    setmaxnreg_inc<S::consumer_registers>();
    backward_consumer<S> consumer = {b, memory, group, 0};
    int phase = 0;
    for (attention_schedule<S> schedule(b.own); schedule.more(); schedule.next()) {
        const attention_place place = schedule.place();
        const attention_steps steps = attention_steps_of<S>(b.own, place);
        const backward_walk walk = backward_walk_of<S>(b, place, 0);
        if (S::parted ? walk.end == 0 : steps.none()) { /* the same: asked for the other way, whole tiles would spill */
            store_no_gradient<S>(b, place, group);
            continue;
        }
        mbarrier_wait_parity(memory.own_full(), phase), phase ^= 1;
        if constexpr (S::parted)
            consumer.part(schedule, walk.first);
        else
            consumer.tile(place, steps);
        fence_proxy_async(); /* the results left through the own rows' place, which TMA writes next */
        bar_sync<128>(1 + group);
        release(memory.own_empty());
    }
#else
    __trap(); /* launched on Hopper alone */
#endif
}

}  // namespace ridge

#endif
