/* A launch of attention by a tile of tiles.h: tensor maps, the order of tiles, parts of keys. Host code, and what merges parts. */
#ifndef RIDGE_ATTENTION_RUN_CUH
#define RIDGE_ATTENTION_RUN_CUH

#include "attention/forward.cuh"
#include "attention/maps.cuh"
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

/* out and lse of a row from those of its parts: a block a row, a thread a value. Sums of the first parts are under way
 * together with the shares. */
template <class S>
__global__ void __launch_bounds__(S::V) attention_merge(const __grid_constant__ attention_args a) {
    constexpr int together = 16;
    const int rows = attention_rows<S>(a), table = (int)(blockIdx.x / rows), row = (int)(blockIdx.x % rows);
    const int kv_heads = a.heads / a.group, column = (int)threadIdx.x;
    const attention_place first = {0, table % kv_heads * a.group, table % kv_heads, table / kv_heads, 0, {}};
    const int64_t at = attention_part_row<S>(a, first, row), next = (int64_t)a.batch * kv_heads * rows;
    const float *const parts = a.part_out + at * a.values + column;
    float some[together], sum = 0.0f;
    after_previous_launch(); /* which may have written the sinks */
    const auto load = [&](int begin) {
#pragma unroll
        for (int i = 0; i < together; i++)
            some[i] = begin + i < a.parts && column < a.values ? parts[(begin + i) * next * a.values] : 0.0f;
    };
    load(0);
    const float sink = S::shaped && a.sink ? a.sink[attention_head<S>(a, first, row)] : -INFINITY;
    const attention_shares shares(a.part_lse + at, next, a.parts, sink);
    for (int begin = 0; begin < a.parts; load(begin += together)) {
#pragma unroll
        for (int i = 0; i < together; i++) sum = fmaf(shares.of(begin + i), some[i], sum);
    }
    if (column < a.values)
        attention_row<S>(a, first, row)[column] =
            from_float<typename S::O>(shares.all == 0.0f ? 0.0f : sum / shares.all);
    if (column == 0) *attention_lse<S>(a, first, row) = shares.all == 0.0f ? -INFINITY : shares.log2_all * LN_2;
}

/* Packed tiles: where parts leave their results. */
template <class S>
inline void take_parts(attention_args *a, const attention_tile &tile, const ridge_call *call, int sms) {
    const int64_t rows = (int64_t)a->batch * a->heads * a->m;
    a->parts = attention_parts(&tile, call->dim, call->option, sms);
    a->m_tiles = (a->m * a->group + 63) / 64;
    if (a->parts < 2) return;
    a->part_out = (float *)call->scratch;
    a->part_lse = a->part_out + a->parts * rows * a->values;
}

/* Tensor maps of k and v: rows of a batch, or of a page. Values that are transposed have none. */
template <class S>
inline bool map_keys(attention_maps *maps, const attention_args &a) {
    using T = typename S::T;
    const int kv_heads = a.heads / a.group;
    if (S::paged) {
        const int rows = a.pages.size, pages = a.pages.count, lines = rows < S::N ? rows : S::N;
        return attention_map_of<T>(&maps->k, a.k, a.k_strides, rows, pages, kv_heads, a.depth, lines) &&
               attention_map_of<T>(&maps->v, a.v, a.v_strides, rows, pages, kv_heads, a.values, lines);
    }
    if (!attention_map_of<T>(&maps->k, a.k, a.k_strides, a.n, a.batch, kv_heads, a.depth, S::N)) return false;
    return S::fp8 || attention_map_of<T>(&maps->v, a.v, a.v_strides, a.n, a.batch, kv_heads, a.values, S::N);
}

template <class S>
inline ridge_status run_tiles(attention_args a, const attention_tile &tile, const ridge_call *call) {
    const cudaStream_t stream = stream_of(call);
    using T = typename S::T;
    static allowed_per_device allowed;
    const void *const kernel = (const void *)attention_kernel<S>;
    constexpr int bytes = attention_memory<S>::bytes;
    const int kv_heads = a.heads / a.group;
    attention_maps maps;
    if (allowed.get([&] { return allow_shared(kernel, bytes); }) != cudaSuccess) return RIDGE_UNSUPPORTED;
    if (!attention_map_of<T>(&maps.q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, S::M) || !map_keys<S>(&maps, a))
        return RIDGE_UNSUPPORTED;
    a.m_tiles = S::varlen ? attention_tiles_of(a.sequences, S::M, a.m) : (a.m + S::M - 1) / S::M;
    a.section = attention_section(a, 1);
    a.longest_first = !S::varlen && a.mask.right < a.n; /* later queries see more */
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    if constexpr (S::packed) take_parts<S>(&a, tile, call, sms);
    const int64_t tiles = (int64_t)a.m_tiles * a.batch * (S::packed ? (int64_t)kv_heads * a.parts : a.heads);
    const launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, bytes};
    RIDGE_TRY(launch_overlapping(attention_kernel<S>, shape, stream, true, maps, a));
    if constexpr (S::packed)
        if (a.part_out) {
            const dim3 rows((unsigned)(a.batch * a.heads * a.m));
            return launch_overlapping(attention_merge<S>, {rows, S::V}, stream, true, a);
        }
    return RIDGE_OK;
}

}  // namespace ridge

#endif
