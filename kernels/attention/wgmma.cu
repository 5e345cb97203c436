/* Attention by the tiles of tiles.h: tensor maps, the order of tiles, the launch. */
#include "attention/call.cuh"
#include "attention/forward.cuh"
#include "cuda/host/tensor_map.cuh"

extern "C" {
#include "attention/ways.h"
}

namespace ridge {

/* Boxes of `lines` rows of 64 dimensions of one head of [rows, batch, heads, dimensions]. */
template <typename T>
static bool map_of(CUtensorMap *map, const void *base, const attention_strides &s, int rows, int batch, int heads,
                   int dimensions, int lines) {
    const auto bytes = [](int extent, int64_t stride) { return (cuuint64_t)(extent > 1 ? stride * 2 : 16); };
    const cuuint64_t extents[4] = {(cuuint64_t)dimensions, (cuuint64_t)rows, (cuuint64_t)heads, (cuuint64_t)batch};
    const cuuint64_t strides[3] = {bytes(rows, s.row), bytes(heads, s.head), bytes(batch, s.batch)};
    return make_map_4d<T>(map, base, extents, strides, lines);
}

/* Heads whose keys and values take about half of L2: their tiles run together. */
static int section_of(const attention_args &a) {
    const int64_t l2 = device_limit(cudaDevAttrL2CacheSize), each = 2 * (int64_t)a.n * (a.depth + a.values);
    const int64_t fit = each > 0 ? l2 / 2 / each : 1, all = (int64_t)a.batch * a.heads;
    const int64_t section = (fit > 1 ? fit : 1) * a.group;
    return (int)(section < all ? section : all);
}

/* out and lse of a row from those of its parts: a block a row. */
template <class S>
__global__ void __launch_bounds__(128) attention_merge(const __grid_constant__ attention_args a) {
    const int rows = attention_rows<S>(a), table = (int)(blockIdx.x / rows), row = (int)(blockIdx.x % rows);
    const int kv_heads = a.heads / a.group;
    const attention_place first = {0, table % kv_heads * a.group, table % kv_heads, table / kv_heads, 0};
    const int64_t at = attention_part_row<S>(a, first, row), next = (int64_t)a.batch * kv_heads * rows;
    after_previous_launch(); /* which may have written the sinks */
    const float sink = S::shaped && a.sink ? a.sink[attention_head<S>(a, first, row)] : -INFINITY;
    float top = sink, total = 0.0f;
    for (int p = 0; p < a.parts; p++) top = fmaxf(top, a.part_lse[at + p * next]);
    const float less = top == -INFINITY ? 0.0f : top * LOG2_E;
    const auto share = [&](int p) { return ex2_approx_ftz(a.part_lse[at + p * next] * LOG2_E - less); };
    for (int p = 0; p < a.parts; p++) total += share(p);
    const float all = total + ex2_approx_ftz(sink * LOG2_E - less);
    for (int j = (int)threadIdx.x; j < a.values; j += 128) {
        float sum = 0.0f;
        for (int p = 0; p < a.parts; p++) sum += share(p) * a.part_out[(at + p * next) * a.values + j];
        attention_row<S>(a, first, row)[j] = from_float<typename S::T>(total == 0.0f ? 0.0f : sum / all);
    }
    if (threadIdx.x == 0) *attention_lse<S>(a, first, row) = all == 0.0f ? -INFINITY : (less + log2f(all)) * LN_2;
}

/* Packed tiles: where parts leave their results. */
template <class S>
static void take_parts(attention_args *a, const attention_tile &tile, const ridge_call *call, int sms) {
    const int64_t rows = (int64_t)a->batch * a->heads * a->m;
    a->parts = attention_parts(&tile, call->dim, call->option, sms);
    a->m_tiles = (a->m * a->group + 63) / 64;
    if (a->parts < 2) return;
    a->part_out = (float *)call->scratch;
    a->part_lse = a->part_out + a->parts * rows * a->values;
}

template <class S>
static ridge_status run_tiles(attention_args a, const attention_tile &tile, const ridge_call *call) {
    const cudaStream_t stream = stream_of(call);
    using T = typename S::T;
    static allowed_per_device allowed;
    const void *const kernel = (const void *)attention_kernel<S>;
    constexpr int bytes = attention_shared_bytes<S>;
    const int kv_heads = a.heads / a.group;
    attention_maps maps;
    if (allowed.get([&] { return allow_shared(kernel, bytes); }) != cudaSuccess) return RIDGE_UNSUPPORTED;
    if (!map_of<T>(&maps.q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, S::M) ||
        !map_of<T>(&maps.k, a.k, a.k_strides, a.n, a.batch, kv_heads, a.depth, S::N) ||
        !map_of<T>(&maps.v, a.v, a.v_strides, a.n, a.batch, kv_heads, a.values, S::N))
        return RIDGE_UNSUPPORTED;
    a.m_tiles = (a.m + S::M - 1) / S::M;
    a.section = section_of(a);
    a.longest_first = a.mask.right < a.n; /* later queries see more */
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    if constexpr (S::packed) take_parts<S>(&a, tile, call, sms);
    const int64_t tiles = (int64_t)a.m_tiles * a.batch * (S::packed ? (int64_t)kv_heads * a.parts : a.heads);
    const launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, bytes};
    RIDGE_TRY(launch_overlapping(attention_kernel<S>, shape, stream, true, maps, a));
    if constexpr (S::packed)
        if (a.part_out) {
            const dim3 rows((unsigned)(a.batch * a.heads * a.m));
            return launch_overlapping(attention_merge<S>, {rows, 128}, stream, true, a);
        }
    return RIDGE_OK;
}

#define RUN(name, depth, values, keys, groups, packed, idea)                                                  \
    static ridge_status run_##name(const ridge_call *call) {                                                  \
        const attention_args a = attention_args_of(call);                                                     \
        const attention_tile tile = {depth, values, keys, groups, packed};                                    \
        if (attention_is_empty(a)) return RIDGE_OK;                                                           \
        return with_attention_kind(call, [&]<typename T, bool Shaped>() {                                     \
            return run_tiles<attention_shape<T, depth, values, keys, groups, Shaped, packed>>(a, tile, call); \
        });                                                                                                   \
    }
ATTENTION_TILES(RUN)

}  // namespace ridge

#define ENTRY(name, ...) \
    extern "C" ridge_status attention_cuda_##name(const ridge_call *call) { return ridge::run_##name(call); }
ATTENTION_TILES(ENTRY)
