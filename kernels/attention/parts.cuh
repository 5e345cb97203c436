/* Parts of the keys, which blocks have side by side where tiles are few, become whole rows again. Where the blocks of a tile's parts
 * fit into one cluster they merge them behind its barrier, in the same launch, from each other's shared memory; else a launch
 * more does, from scratch.
 *
 * All of this runs once a launch, from instructions that no cache has: of one query and 8192 keys 43 % of ncu's samples
 * waited for them. So there are few of them: sums leave as they are, in columns of the tile, and the quotient is the merge's. */
#ifndef RIDGE_ATTENTION_PARTS_CUH
#define RIDGE_ATTENTION_PARTS_CUH

#include "attention/scores.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/reduce.cuh"

extern "C" {
#include "attention/ways.h"
}

namespace ridge {

/* What a part has of a row: S::V sums of exponentials times values, and {what exponents of two are relative to, the sum of the
 * exponentials}, -inf where it sees no key. Here of a tile's rows: row r's sums begin at sums + r * stride. */
template <class S>
struct attention_part {
    static constexpr int shared_stride = S::V + 8; /* rows of a fragment are in different banks */
    static constexpr int shared_bytes = S::M * (shared_stride * 4 + 8);
    float *sums;
    float2 *ends;
    int stride, end_stride;

    /* Of rows from `row` on. In the block's shared memory, from `room` on, where blocks are a cluster; else in scratch, a row's parts
     * side by side. */
    __device__ attention_part(const attention_args &a, const attention_place &place, uint32_t room, int row) {
        if (a.clustered) {
            sums = (float *)cvta_shared(room), ends = (float2 *)(sums + S::M * shared_stride);
            stride = shared_stride, end_stride = 1;
            sums += (row - place.m) * stride, ends += row - place.m;
            return;
        }
        const int table = place.batch * (a.heads / a.group) + place.kv_head;
        const int64_t first = ((int64_t)table * attention_rows<S>(a) + row) * a.parts + place.part;
        sums = a.part_sums + first * S::V, ends = a.part_ends + first;
        stride = a.parts * S::V, end_stride = a.parts;
    }
};

/* rows: maxima and sums of this thread's two (softmax_rows). */
template <class S, class Rows>
__device__ inline void store_part(const attention_args &a, const attention_place &place, const float (&sums)[S::sums],
                                  const Rows &rows, float factor, uint32_t room) {
    const int row = place.m + fragment_row(0);
    const attention_part<S> part(a, place, room, row);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const float all = quad_sum(rows.sum[r]);
        if (row + 8 * r >= attention_rows<S>(a)) continue;
        float *const line = part.sums + 8 * r * part.stride + fragment_column();
#pragma unroll
        for (int j = 0; j < S::V / 8; j++)
            *(float2 *)(line + 8 * j) = make_float2(sums[4 * j + 2 * r], sums[4 * j + 2 * r + 1]);
        if (threadIdx.x % 4 == 0)
            part.ends[8 * r * part.end_stride] =
                make_float2(all == 0.0f ? -INFINITY : rows.shift(rows.most[r], factor), all);
    }
}
/* Of a part whose queries see no key. */
template <class S>
__device__ inline void store_no_part(const attention_args &a, const attention_place &place, uint32_t room) {
    const attention_part<S> part(a, place, room, place.m);
    const int rows = min(S::M, attention_rows<S>(a) - place.m);
#pragma unroll 1
    for (int i = thread_of_warpgroup(); i < rows * S::V; i += 128) part.sums[i / S::V * part.stride + i % S::V] = 0.0f;
    if (thread_of_warpgroup() < rows) part.ends[thread_of_warpgroup() * part.end_stride] = make_float2(-INFINITY, 0.0f);
}

/* What the parts of a row are multiplied by: part p's share is in lane p % 32. Every warp has them, without shared memory. */
struct attention_shares {
    static constexpr int of_lane = ATTENTION_PARTS / 32;
    float share[of_lane];
    float less, all; /* what the largest one is relative to; the sum that shares are of */

    /* end(p): of part p; sink: -inf for none. A row that sees nothing has all = 0. */
    template <typename F>
    __device__ attention_shares(int parts, float sink, const F &end) {
        const int lane = (int)threadIdx.x % 32;
        float2 ends[of_lane];
        float top = sink * LOG2_E, sum = 0.0f;
#pragma unroll
        for (int i = 0; i < of_lane; i++) {
            ends[i] = lane + 32 * i < parts ? end(lane + 32 * i) : make_float2(-INFINITY, 0.0f);
            top = fmaxf(top, ends[i].x);
        }
        top = lanes_max<32>(top);
        less = top == -INFINITY ? 0.0f : top;
#pragma unroll
        for (int i = 0; i < of_lane; i++) share[i] = ex2_approx_ftz(ends[i].x - less), sum += share[i] * ends[i].y;
        all = lanes_sum<32>(sum) + ex2_approx_ftz(sink * LOG2_E - less);
    }
    __device__ float of(int p) const {
        float v = share[0];
#pragma unroll
        for (int i = 1; i < of_lane; i++) v = p / 32 == i ? share[i] : v;
        return __shfl_sync(0xffffffffu, v, p % 32);
    }
};

/* A lane's values of a row: one behind the other. */
template <int Count>
struct alignas(Count < 4 ? 4 * Count : 16) attention_values {
    float v[Count];
};

/* What a warp has of a row of several parts: a lane's values, not divided, from column() on; what they are relative to, -inf where it
 * sees nothing, and the sum of its exponentials. */
template <class S>
struct attention_merged {
    static constexpr int count = S::V / 32;
    attention_values<count> values;
    float less, all;
    __device__ static int column(void) { return (int)threadIdx.x % 32 * count; }
};

/* From what `parts` parts have, by a warp. sums(p), end(p): those of part p. Loads of the first parts are under way together with
 * those of the shares. */
template <class S, typename Sums, typename End>
__device__ inline attention_merged<S> merge_parts(int parts, float sink, const Sums &sums, const End &end) {
    constexpr int count = attention_merged<S>::count, together = 64 / count;
    attention_values<count> some[together];
    attention_merged<S> row = {};
    const auto load = [&](int begin) {
#pragma unroll
        for (int p = 0; p < together; p++)
            some[p] = begin + p < parts ? *(const attention_values<count> *)(sums(begin + p) + row.column())
                                        : attention_values<count>{};
    };
    load(0);
    const attention_shares shares(parts, sink, end);
    for (int begin = 0; begin < parts; load(begin += together)) {
#pragma unroll
        for (int p = 0; p < together; p++) {
            const float share = shares.of(begin + p);
#pragma unroll
            for (int i = 0; i < count; i++) row.values.v[i] = fmaf(share, some[p].v[i], row.values.v[i]);
        }
    }
    row.less = shares.all == 0.0f ? -INFINITY : shares.less, row.all = shares.all;
    return row;
}
/* To out and lse. */
template <class S>
__device__ inline void store_merged(const attention_args &a, const attention_place &place, int row,
                                    const attention_merged<S> &merged) {
    const float by = merged.all == 0.0f ? 0.0f : 1.0f / merged.all;
    typename S::O *const out = attention_row<S>(a, place, row);
#pragma unroll
    for (int i = 0; i < merged.count; i++)
        if (merged.column() + i < a.values)
            out[merged.column() + i] = from_float<typename S::O>(merged.values.v[i] * by);
    if (merged.column() == 0)
        *attention_lse<S>(a, place, row) = merged.all == 0.0f ? -INFINITY : (merged.less + log2f(merged.all)) * LN_2;
}

template <class S>
__device__ inline float attention_sink(const attention_args &a, const attention_place &place, int row) {
    return S::shaped && a.sink ? a.sink[attention_head<S>(a, place, row)] : -INFINITY;
}
/* All parts of a row, to out and lse. */
template <class S, typename Sums, typename End>
__device__ inline void merge_row(const attention_args &a, const attention_place &place, int row, const Sums &sums,
                                 const End &end) {
    store_merged<S>(a, place, row, merge_parts<S>(a.parts, attention_sink<S>(a, place, row), sums, end));
}

/* By all threads of the blocks of a tile, which are a cluster and have left their parts in `room`: they share the tile's rows, row r
 * is that of block r modulo their number. None leaves while another reads what it has. */
template <class S>
__device__ inline void merge_in_cluster(const attention_args &a, uint32_t room) {
    const attention_place place = attention_schedule<S>(a).place();
    const int rows = min(S::M, attention_rows<S>(a) - place.m);
    __syncwarp();
    barrier_cluster_sync();
#pragma unroll 1
    for (int row = place.part + (int)threadIdx.x / 32 * a.parts; row < rows; row += S::threads / 32 * a.parts) {
        const attention_part<S> own(a, place, room, place.m + row);
        merge_row<S>(
            a, place, place.m + row, [&](int p) { return mapa_generic(own.sums, p); },
            [&](int p) { return *mapa_generic(own.ends, p); });
    }
    __syncwarp();
    barrier_cluster_sync();
}

/* A launch more, a warp a row. */
template <class S>
__global__ void __launch_bounds__(128) attention_merge(const __grid_constant__ attention_args a) {
    const int rows = attention_rows<S>(a), kv_heads = a.heads / a.group;
    const int number = (int)(blockIdx.x * 4 + threadIdx.x / 32), table = number / rows;
    if (table >= a.batch * kv_heads) return;
    after_previous_launch();
    const attention_place place = {0, table % kv_heads * a.group, table % kv_heads, table / kv_heads, 0, {}};
    const attention_part<S> first(a, place, 0, number % rows);
    merge_row<S>(
        a, place, number % rows, [&](int p) { return first.sums + p * S::V; }, [&](int p) { return first.ends[p]; });
}

}  // namespace ridge

#endif
