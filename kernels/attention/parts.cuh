/* Parts of the keys, which blocks have side by side where tiles are few, become whole rows again. Each part has left its rows
 * relative to its own sum, and the logarithm of that sum, in scratch. Where the blocks of a tile's parts fit into one cluster they
 * merge them behind its barrier, in the same launch; else a launch more does. */
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

/* What parts are of a row's whole: part p's share is in lane p % 32. Every warp has them, without shared memory. */
struct attention_shares {
    static constexpr int of_lane = ATTENTION_PARTS / 32;
    float share[of_lane];
    float all, log2_all; /* all: of the sums that shares are of */

    /* lse: of part 0; sink: -inf for none. A row that sees nothing has all = 0. */
    __device__ attention_shares(const float *lse, int64_t next, int parts, float sink) {
        const int lane = (int)threadIdx.x % 32;
        float top = sink, sum = 0.0f;
#pragma unroll
        for (int i = 0; i < of_lane; i++) {
            const int p = lane + 32 * i;
            share[i] = p < parts ? lse[p * next] : -INFINITY;
            top = fmaxf(top, share[i]);
        }
        top = lanes_max<32>(top);
        const float less = top == -INFINITY ? 0.0f : top * LOG2_E;
#pragma unroll
        for (int i = 0; i < of_lane; i++) sum += share[i] = ex2_approx_ftz(share[i] * LOG2_E - less);
        all = lanes_sum<32>(sum) + ex2_approx_ftz(sink * LOG2_E - less), log2_all = less + log2f(all);
    }
    __device__ float of(int p) const {
        float v = share[0];
#pragma unroll
        for (int i = 1; i < of_lane; i++) v = p / 32 == i ? share[i] : v;
        return __shfl_sync(0xffffffffu, v, p % 32);
    }
};

/* out and lse of a row from those of its parts, by a warp: lane l has the values l, l + 32, … Loads of the first parts are under way
 * together with those of the shares. place: of part 0. */
template <class S>
__device__ inline void merge_row(const attention_args &a, const attention_place &place, int row) {
    constexpr int of_lane = S::V / 32, together = 32 / of_lane;
    const int lane = (int)threadIdx.x % 32;
    const int64_t at = attention_part_row<S>(a, place, row);
    const int64_t next = (int64_t)a.batch * (a.heads / a.group) * attention_rows<S>(a);
    const float *const parts = a.part_out + at * a.values + lane;
    float some[together][of_lane], sum[of_lane] = {};
    const auto load = [&](int begin) {
#pragma unroll
        for (int p = 0; p < together; p++)
#pragma unroll
            for (int i = 0; i < of_lane; i++)
                some[p][i] = begin + p < a.parts && lane + 32 * i < a.values
                                 ? parts[(begin + p) * next * a.values + 32 * i]
                                 : 0.0f;
    };
    load(0);
    const float sink = S::shaped && a.sink ? a.sink[attention_head<S>(a, place, row)] : -INFINITY;
    const attention_shares shares(a.part_lse + at, next, a.parts, sink);
    for (int begin = 0; begin < a.parts; load(begin += together)) {
#pragma unroll
        for (int p = 0; p < together; p++) {
            const float share = shares.of(begin + p);
#pragma unroll
            for (int i = 0; i < of_lane; i++) sum[i] = fmaf(share, some[p][i], sum[i]);
        }
    }
    typename S::O *const out = attention_row<S>(a, place, row);
#pragma unroll
    for (int i = 0; i < of_lane; i++)
        if (lane + 32 * i < a.values)
            out[lane + 32 * i] = from_float<typename S::O>(shares.all == 0.0f ? 0.0f : sum[i] / shares.all);
    if (lane == 0) *attention_lse<S>(a, place, row) = shares.all == 0.0f ? -INFINITY : shares.log2_all * LN_2;
}

/* By all threads of the blocks of a tile, which are a cluster: its barrier makes what they left visible, and their warps share the
 * tile's rows. */
template <class S>
__device__ inline void merge_in_cluster(const attention_args &a) {
    attention_place place = attention_schedule<S>(a).place();
    const int end = min(place.m + S::M, attention_rows<S>(a)), warps = S::threads / 32;
    const int first = place.m + place.part * warps + (int)threadIdx.x / 32;
    place.part = 0;
    __syncwarp();
    barrier_cluster_sync();
    for (int row = first; row < end; row += a.parts * warps) merge_row<S>(a, place, row);
}

/* A launch more, a warp a row. */
template <class S>
__global__ void __launch_bounds__(128) attention_merge(const __grid_constant__ attention_args a) {
    const int rows = attention_rows<S>(a), kv_heads = a.heads / a.group;
    const int number = (int)(blockIdx.x * 4 + threadIdx.x / 32), table = number / rows;
    if (table >= a.batch * kv_heads) return;
    after_previous_launch();
    merge_row<S>(a, {0, table % kv_heads * a.group, table % kv_heads, table / kv_heads, 0, {}}, number % rows);
}

}  // namespace ridge

#endif
