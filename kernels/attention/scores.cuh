/* From scores in a warpgroup's registers to P as an operand: what shapes them, which are masked, their exponentials with
 * the rows' maxima and sums, and the result on its way out. A thread has two rows of a fragment (tile/fragment.cuh). */
#ifndef RIDGE_ATTENTION_SCORES_CUH
#define RIDGE_ATTENTION_SCORES_CUH

#include <cuda_fp8.h>

#include "attention/schedule.cuh"
#include "cuda/epilogue/store.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/tile/fragment.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f;

/* ---- scores of a step ---- */

/* softcap tanh(x / softcap), within 2^-21 of softcap. */
__device__ inline float attention_capped(float x, float softcap) {
    const float power = ex2_approx_ftz(x * (rcp_approx_ftz(softcap) * (2.0f * LOG2_E)));
    return softcap - 2.0f * softcap * rcp_approx_ftz(power + 1.0f);
}
/* A product becomes a score, as an exponent of two. ahead: keys that the query is ahead of this one. By reference: values would
 * stay in registers for all of a row, and ptxas spills. */
__device__ inline void attention_bend(float &x, const attention_args &a, const float &scale, const float &slope,
                                      int ahead) {
    x *= scale;
    if (a.softcap > 0.0f) x = attention_capped(x, a.softcap);
    x = (x - slope * fabsf((float)ahead)) * LOG2_E;
}

template <class S>
struct attention_scores_of {
    const attention_args &a;
    int first, last; /* queries of the warpgroup; last < first: none exists */
    int query[2];    /* of this thread's rows */
    static constexpr int heads = S::packed ? 2 : 1;
    float slope[heads], sink_log2[heads]; /* of this thread's rows, or of both */
    attention_span span;                  /* where S::spans */
    float own_scale;                      /* of the head, where S::scaled: to exponents of two, unless it bends */

    __device__ attention_scores_of(const attention_args &args, const attention_place &place, int group) : a(args) {
        of(place, group);
    }
    /* The warpgroup's rows of another tile. */
    __device__ void of(const attention_place &place, int group) {
        const int row = place.m + group * 64;
        if constexpr (S::spans) span = place.span;
        if constexpr (S::scaled)
            own_scale = attention_score_scale(a, place.batch, place.head) * (bends() ? 1.0f : LOG2_E);
        first = attention_query<S>(a, row);
        last = attention_query<S>(a, min(row + 63, attention_row_end<S>(a, place) - 1));
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int own = place.m + fragment_row(group) + 8 * r, head = attention_head<S>(a, place, own);
            query[r] = attention_query<S>(a, own);
            if (r >= heads) continue;
            slope[r] = S::shaped && a.slope ? a.slope[head] : 0.0f;
            sink_log2[r] = S::shaped && a.sink && !(S::packed && a.part_sums) ? a.sink[head] * LOG2_E : -INFINITY;
        }
    }
    /* From scores to exponents of two. */
    __device__ float factor(void) const { return bends() || turns() ? 1.0f : S::scaled ? own_scale : a.scale * LOG2_E; }

    __device__ void apply(float (&scores)[S::scores], int step) const {
        if (S::scaled && !bends() && turns())
#pragma unroll
            for (int i = 0; i < S::scores; i++) scores[i] *= own_scale;
        if constexpr (S::shaped)
            if (bends()) bend<0>(scores, step), bend<1>(scores, step);
        if (first <= last && attention_sees_all(mask(), first, last, step * S::N, (step + 1) * S::N, all_keys()))
            return;
        hide<0>(scores, step), hide<1>(scores, step);
    }

   private:
    /* Scores are more than products times a positive scale. */
    __device__ bool bends(void) const {
        return S::asks ? !(a.scale > 0.0f) || a.softcap > 0.0f || a.sink || a.slope : S::shaped;
    }
    __device__ const float &scale(void) const { return S::scaled ? own_scale : a.scale; }
    /* The largest score is not the one of the largest product: known before a launch, but for scales of heads. */
    __device__ bool turns(void) const { return S::scaled && !(own_scale > 0.0f); }
    __device__ attention_mask mask(void) const { return attention_mask_at<S>(a, span); }
    __device__ attention_keys all_keys(void) const { return attention_all_keys<S>(a, span); }
    template <int Which>
    __device__ void bend(float (&scores)[S::scores], int step) const {
        const int ahead = query[Which] + mask().shift - step * S::N - fragment_column(); /* of the thread's first key */
        each_of_row<Which>(scores, [&](float &x, int i) {
            attention_bend(x, a, scale(), slope[Which % heads], ahead - i / 2 * 8 - i % 2);
        });
    }
    /* Of a thread's 32 scores of a row, which are two of eight keys each: a bit for each whose key is below `key`, counted from the
     * first one's. Bits become predicates seven at a time; an addition and a comparison a score were two instructions more. */
    __device__ static unsigned before(int key) {
        const int some = max(key, 0), bits = min(some / 8 * 2 + min(some % 8, 2), 32);
        return (unsigned)((1ull << bits) - 1);
    }
    template <int Which>
    __device__ void hide(float (&scores)[S::scores], int step) const {
        const attention_keys keys = attention_keys_among(mask(), query[Which], query[Which], all_keys());
        const int own = step * S::N + fragment_column(); /* the key of the thread's first score */
        unsigned seen[(S::N + 127) / 128];
#pragma unroll
        for (int w = 0; w < (S::N + 127) / 128; w++)
            seen[w] = before(keys.end - own - 128 * w) & ~before(keys.begin - own - 128 * w);
        each_of_row<Which>(scores, [&](float &x, int i) {
            if (!(seen[i / 32] & 1u << i % 32)) x = -INFINITY;
        });
    }
};

/* ---- softmax ---- */

/* Of a row that has all its exponentials: what its sums of values are multiplied by, and its natural logarithm. all: their sum;
 * own: what they are relative to; sink: an exponent of two that joins them, -inf for none. */
struct softmax_end {
    float by, lse;
    __device__ softmax_end(float all, float own, float sink) {
        const float top = all == 0.0f ? sink : fmaxf(own, sink);
        const float kept = all == 0.0f ? 0.0f : ex2_approx_ftz(own - top);
        const float total = all * kept + (sink == -INFINITY ? 0.0f : ex2_approx_ftz(sink - top));
        by = all == 0.0f ? 0.0f : kept / total;
        lse = total == 0.0f ? -INFINITY : (top + log2f(total)) * LN_2;
    }
};

/* Maximum and sum of a thread's two rows so far. `most` is what exponents are relative to, the same in the four threads
 * of a row; sums are the thread's own. Lag: by how many powers of two it may lag behind the maximum (forward.cuh). Raised:
 * exponentials are as many powers of two larger. */
template <int Lag, int Raised>
struct softmax_rows_of {
    static constexpr float LAG = Lag, RAISED = Raised;
    float most[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
    float by[2], lse[2]; /* after finish(): what sums are multiplied by, and the natural logarithm */

    __device__ void restart(void) {
#pragma unroll
        for (int r = 0; r < 2; r++) most[r] = -INFINITY, sum[r] = 0.0f;
    }

    /* What exponents of 2 are reduced by: a row without keys so far has none. */
    __device__ static float shift(float most, float factor) {
        return most == -INFINITY ? 0.0f : most * factor - RAISED;
    }
    /* The maximum follows scores of which `top` is the largest, or lags. less: its shift. Returns what earlier sums are
     * multiplied by. */
    __device__ static float follow(float &most, float &less, float top, float factor) {
        const float before = most;
        const bool follows = !((top - before) * factor <= LAG);
        if (follows) most = fmaxf(top, before);
        less = shift(most, factor);
        /* Exactly 1 where the maximum stays: a fused multiply-add would leave what its product was rounded by. */
        return follows ? ex2_approx_ftz(before * factor - RAISED - less) : 1.0f;
    }

    /* Scores become exponentials. Returns what sums of earlier steps are multiplied by. */
    template <int Count>
    __device__ float2 take(float (&scores)[Count], float factor) {
        return make_float2(take_row<0>(scores, factor), take_row<1>(scores, factor));
    }
    /* sinks: exponents of two that join the sums; -inf: none. */
    template <int Heads>
    __device__ void finish(float factor, const float (&sinks)[Heads]) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const softmax_end end(quad_sum(sum[r]), shift(most[r], factor), sinks[r % Heads]);
            by[r] = end.by, lse[r] = end.lse;
        }
    }

   private:
    template <int Which, int Count>
    __device__ float take_row(float (&scores)[Count], float factor) {
        float tops[2] = {-INFINITY, -INFINITY}, added = 0.0f; /* two: each maximum waits for the one before */
        each_of_row<Which>(scores, [&](float x, int i) { tops[i % 2] = fmaxf(tops[i % 2], x); });
        const float top = quad_max(fmaxf(tops[0], tops[1]));
        float less;
        const float kept = follow(most[Which], less, top, factor);
        each_of_row<Which>(scores, [&](float &x, int) { x = ex2_approx_ftz(x * factor - less), added += x; });
        sum[Which] = sum[Which] * kept + added;
        return kept;
    }
};

using softmax_rows = softmax_rows_of<8, 0>;

/* by: of the two rows. All four threads of a row agree; rare, so warps ask first. */
template <int Count>
__device__ inline void rescale(float (&sums)[Count], float2 by) {
    if (!__any_sync(0xffffffffu, by.x != 1.0f || by.y != 1.0f)) return;
    each_of_row<0>(sums, [&](float &x, int) { x *= by.x; });
    each_of_row<1>(sums, [&](float &x, int) { x *= by.y; });
}

/* ---- P as wgmma's A operand from registers ---- */

/* Codes of e4m3. The columns 2 q, 2 q + 1, 2 q + 8 and 2 q + 9 that a thread has of each 16 become neighbours: values lie
 * in that order, too (fp8.cuh). */
template <int Slices, int Count>
__device__ inline void round_to_codes(unsigned (&p)[Slices][4], const float (&scores)[Count]) {
    static_assert(Count == 16 * Slices);
    const auto pair = [&](int i) {
        return (unsigned)__nv_cvt_float2_to_fp8x2(make_float2(scores[i], scores[i + 1]), __NV_SATFINITE, __NV_E4M3);
    };
#pragma unroll
    for (int i = 0; i < Slices; i++)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            const int first = 16 * i + w / 2 * 8 + w % 2 * 2;
            p[i][w] = pair(first) | pair(first + 4) << 16;
        }
}
template <class S>
__device__ inline void round_to_operand(unsigned (&p)[S::p_slices][4], const float (&scores)[S::scores]) {
    if constexpr (S::fp8) {
        round_to_codes(p, scores);
    } else {
#pragma unroll
        for (int i = 0; i < S::p_slices; i++)
#pragma unroll
            for (int w = 0; w < 4; w++)
                p[i][w] = cvt_rn_x2(typename S::T(), scores[8 * i + 2 * w], scores[8 * i + 2 * w + 1]);
    }
}
/* Its registers are read until here. */
template <class S>
__device__ inline void keep_operand(const unsigned (&p)[S::p_slices][4]) {
#pragma unroll
    for (int i = 0; i < S::p_slices; i++) asm volatile("" ::"r"(p[i][0]), "r"(p[i][1]), "r"(p[i][2]), "r"(p[i][3]));
}

/* ---- results ---- */

template <class S>
__device__ inline typename S::O *attention_row(const attention_args &a, const attention_place &place, int row) {
    return (typename S::O *)a.out + attention_query<S>(a, row) * a.out_strides.row + place.batch * a.out_strides.batch +
           attention_head<S>(a, place, row) * a.out_strides.head;
}
template <class S>
__device__ inline float *attention_lse(const attention_args &a, const attention_place &place, int row) {
    return a.lse + attention_query<S>(a, row) * a.lse_strides.row + place.batch * a.lse_strides.batch +
           attention_head<S>(a, place, row) * a.lse_strides.head;
}
/* row: the thread's first. */
template <class S, class Rows>
__device__ inline void store_lse(const attention_args &a, const attention_place &place, const Rows &rows, int row) {
    if (threadIdx.x % 4 != 0) return;
#pragma unroll
    for (int r = 0; r < 2; r++)
        if (row + 8 * r < attention_row_end<S>(a, place)) *attention_lse<S>(a, place, row + 8 * r) = rows.lse[r];
}

/* Rows of a tile on their way from a warpgroup's sums to memory. */
struct attention_rows_out {
    uint32_t room; /* in shared memory, for all rows of the tile */
    int group;     /* the warpgroup, which has 64 of them */
    int first;     /* the number of the tile's first row */
    int rows, columns;
    bool in_pieces; /* rows in memory begin at multiples of 16 bytes and have whole ones */
};

/* A warp's 16 rows, in 64-column chunks of all the tile's rows: whole pieces of 16 bytes, or elements, go to memory.
 * row_of(row): where it begins. */
template <class S, int Columns, typename F>
__device__ inline void copy_pieces(const attention_rows_out &to, uint32_t from, const F &row_of) {
    constexpr int pieces = Columns / 8; /* of a row */
    const int warp_row = thread_of_warpgroup() / 32 * 16;
#pragma unroll 2
    for (int i = (int)threadIdx.x % 32; i < 16 * pieces; i += 32) {
        const int line = warp_row + i / pieces, piece = i % pieces, row = to.first + to.group * 64 + line;
        const uint32_t at = from + (uint32_t)(piece / 8 * S::M * 128 + swizzle_128B(line, piece % 8));
        if (row < to.rows && piece * 8 < to.columns) st_global_v4(row_of(row) + piece * 8, ld_shared_v4(at));
    }
}
template <class S, int Columns, typename F>
__device__ inline void copy_elements(const attention_rows_out &to, uint32_t from, const F &row_of) {
    const int warp_row = thread_of_warpgroup() / 32 * 16;
    for (int i = (int)threadIdx.x % 32; i < 16 * Columns; i += 32) {
        const int line = warp_row + i / Columns, column = i % Columns, row = to.first + to.group * 64 + line;
        const uint32_t at =
            from + (uint32_t)(column / 64 * S::M * 128 + swizzle_128B(line, column % 64 / 8) + column % 8 * 2);
        if (row >= to.rows || column >= to.columns) continue;
        ((uint16_t *)row_of(row))[column] = ld_shared_u16(at);
    }
}
template <class S, int Columns>
__device__ inline void put_rows(uint32_t own, const float (&sums)[Columns / 2]) {
#pragma unroll
    for (int chunk = 0; chunk < Columns / 64; chunk++)
        put_chunk<typename S::O>(own + (uint32_t)(chunk * S::M * 128), sums, chunk);
}
template <class S, int Columns, typename F>
__device__ inline void copy_rows(const attention_rows_out &to, uint32_t own, const F &row_of) {
    __syncwarp();
    if (to.in_pieces)
        copy_pieces<S, Columns>(to, own, row_of);
    else
        copy_elements<S, Columns>(to, own, row_of);
}

template <class S, int Columns, typename F>
__device__ inline void store_rows(const attention_rows_out &to, const float (&sums)[Columns / 2], const F &row_of) {
    const uint32_t own = unkept(to.room + (uint32_t)(to.group * 64 * 128));
    put_rows<S, Columns>(own, sums);
    copy_rows<S, Columns>(to, own, row_of);
}

/* A warp's rows, by TMA: under way until its first lane has waited for the group. row: the first. */
template <class S>
__device__ inline void send_rows(const CUtensorMap *map, const attention_place &place, uint32_t own, int row) {
    fence_proxy_async(); /* before TMA reads */
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
#pragma unroll
    for (int chunk = 0; chunk < S::V / 64; chunk++)
        cp_async_bulk_tensor_store(map, own + (uint32_t)(chunk * S::M * 128 + (row - place.m) % 64 * 128), chunk * 64,
                                   row, place.head, place.batch);
    cp_async_bulk_commit_group();
}

/* room: for the result of all rows of the tile. What has left it by TMA is under way (send_rows). */
template <class S, class Rows>
__device__ inline void attention_store(const attention_maps &maps, const attention_args &a,
                                       const attention_place &place, float (&sums)[S::sums], const Rows &rows,
                                       uint32_t room, int group) {
    const int row = place.m + fragment_row(group);
    const float of_values = S::scaled ? attention_value_scale(a, place.batch, place.head) : 1.0f;
    each_of_row<0>(sums, [&](float &x, int) { x *= rows.by[0] * of_values; });
    each_of_row<1>(sums, [&](float &x, int) { x *= rows.by[1] * of_values; });
    wgmma_settle(sums); /* multiplied once, whichever way they leave */
    const attention_rows_out to = {room, group, place.m, attention_row_end<S>(a, place), a.values, a.out_in_pieces};
    const uint32_t own = unkept(room + (uint32_t)(group * 64 * 128));
    const int first = place.m + group * 64 + thread_of_warpgroup() / 32 * 16; /* of the warp */
    put_rows<S, S::V>(own, sums);
    /* Behind a sequence's last row another one begins; behind the tensor's last TMA stores nothing. */
    if (S::sends && a.out_mapped && (!S::varlen || first + 16 <= to.rows)) {
        send_rows<S>(&maps.out, place, own, first);
    } else {
        copy_rows<S, S::V>(to, own, [&](int r) { return attention_row<S>(a, place, r); });
        fence_proxy_async(); /* TMA writes there next */
        __syncwarp();
    }
    store_lse<S>(a, place, rows, row);
}

/* Of a tile whose queries see no key. */
template <class S>
__device__ inline void attention_store_none(const attention_args &a, const attention_place &place, int group) {
    const int first = place.m + group * 64, rows = min(64, attention_row_end<S>(a, place) - first);
    for (int i = thread_of_warpgroup(); i < rows * a.values; i += 128) {
        const int row = first + i / a.values, column = i % a.values;
        attention_row<S>(a, place, row)[column] = from_float<typename S::O>(0.0f);
    }
    for (int i = thread_of_warpgroup(); i < rows; i += 128) {
        const float sink = a.sink ? a.sink[attention_head<S>(a, place, first + i)] : -INFINITY;
        *attention_lse<S>(a, place, first + i) = sink;
    }
}

}  // namespace ridge

#endif
