/* Attention's gradients by the tiles of tiles.h: tensor maps, the order of launches. */
#include "attention_backward/call.cuh"
#include "attention_backward/tile.cuh"
#include "attention/maps.cuh"

extern "C" {
#include "attention_backward/ways.h"
}

namespace ridge {

/* Tiles of one kernel: b has all but what depends on its shape. */
template <class S>
static ridge_status run_shape(const backward_maps &maps, backward_args b, cudaStream_t stream) {
    if constexpr (!S::shaped && !S::parted)
        if (b.own.parts > 1) return run_shape<typename S::in_parts>(maps, b, stream);
    const void *const kernel = (const void *)attention_backward_kernel<S>;
    constexpr int bytes = backward_memory<S>::bytes;
    if (allow_shared(kernel, bytes) != cudaSuccess) return RIDGE_UNSUPPORTED;
    const int m_tiles = (b.own.m + S::M - 1) / S::M;
    const bool later_rows_see_more = b.own.mask.right < b.own.n;
    b.own.order = attention_order_of(b.own, m_tiles, attention_section(b.own, b.shared), later_rows_see_more);
    const int64_t tiles = (int64_t)m_tiles * b.own.batch * b.own.heads * b.own.parts;
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    const launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, bytes};
    return launch_overlapping(attention_backward_kernel<S>, shape, stream, true, maps, b);
}

/* Boxes of `own` rows of queries, or of keys, and of `passing` rows of the others. */
template <typename T>
static bool maps_of(backward_maps *maps, const backward_call &c, bool keys, int own, int passing) {
    const attention_args &a = c.own;
    const backward_statistics_args &s = c.statistics;
    const int kv_heads = a.heads / a.group, q_lines = keys ? passing : own, k_lines = keys ? own : passing;
    CUtensorMap *const q = keys ? &maps->x : &maps->own_x, *const dout = keys ? &maps->y : &maps->own_y;
    CUtensorMap *const k = keys ? &maps->own_x : &maps->x, *const v = keys ? &maps->own_y : &maps->y;
    return attention_map_of<T>(q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, q_lines) &&
           attention_map_of<T>(dout, s.dout, s.dout_strides, a.m, a.batch, a.heads, a.values, q_lines) &&
           attention_map_of<T>(k, a.k, a.k_strides, a.n, a.batch, kv_heads, a.depth, k_lines) &&
           attention_map_of<T>(v, a.v, a.v_strides, a.n, a.batch, kv_heads, a.values, k_lines);
}

/* sums: of parts. */
template <class S>
static ridge_status run_queries(const backward_call &c, int parts, float *sums) {
    backward_args b = {c.own, 1, c.statistics.exponents, c.statistics.deltas, c.statistics.line, c.dq, {}, sums, NULL};
    backward_maps maps;
    b.own.parts = parts;
    if (!maps_of<typename S::T>(&maps, c, false, S::M, S::N)) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(run_shape<S>(maps, b, c.stream));
    return parts > 1 ? backward_add_parts(b, sums, b.dx, c.dtype, c.stream) : RIDGE_OK;
}

/* As keys see queries. */
static backward_args args_of_keys(const backward_call &c, int parts, float *sums) {
    const int group = c.own.group;
    backward_args b = {c.own, group, c.statistics.exponents, c.statistics.deltas, c.statistics.line, c.dk, c.dv,
                       sums,  NULL};
    b.own.mask = attention_mask_transposed(c.own.mask);
    b.own.m = c.own.n, b.own.n = c.own.m, b.own.heads = c.own.heads / group, b.own.group = 1;
    b.own.parts = parts;
    b.part_y = sums + (int64_t)parts * b.own.batch * b.own.heads * b.own.m * backward_part_line(c.dk.columns);
    return b;
}
template <class S>
static ridge_status run_keys(const backward_call &c, const backward_args &b) {
    backward_maps maps;
    if (!maps_of<typename S::T>(&maps, c, true, S::M, S::N)) return RIDGE_UNSUPPORTED;
    return run_shape<S>(maps, b, c.stream);
}

template <typename T, int Depth, int Values, int Queries, int Keys, bool Apart, bool Shaped>
static ridge_status run_tile(const ridge_call *call) {
    using of_keys = backward_shape<T, Depth, Values, Queries, true, true, !Apart, Shaped>;
    using of_values = backward_shape<T, Depth, Values, Queries, true, false, true, Shaped>;
    using of_queries = backward_shape<T, Depth, Values, Keys, false, true, false, Shaped>;
    float *behind;
    const backward_call c = backward_call_of(call, &behind);
    const backward_tile tile = {Depth, Values, Queries, Keys, Apart};
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    const backward_split parts = backward_parts_of(&tile, call->dim, call->option, sms > 0 ? sms : 1);
    const backward_args keys = args_of_keys(c, parts.keys, behind);
    RIDGE_TRY(backward_statistics(c));
    RIDGE_TRY(run_keys<of_keys>(c, keys));
    if constexpr (Apart) RIDGE_TRY(run_keys<of_values>(c, keys));
    if (parts.keys > 1) {
        RIDGE_TRY(backward_add_parts(keys, keys.part_x, c.dk, c.dtype, c.stream));
        RIDGE_TRY(backward_add_parts(keys, keys.part_y, c.dv, c.dtype, c.stream));
    }
    return run_queries<of_queries>(c, parts.queries, behind + backward_key_floats(call->dim, parts.keys));
}

#define RUN(name, depth, values, queries, keys, apart, idea)                       \
    static ridge_status run_##name(const ridge_call *call) {                       \
        return with_backward_kind(call, [&]<typename T, bool Shaped>() {           \
            return run_tile<T, depth, values, queries, keys, apart, Shaped>(call); \
        });                                                                        \
    }
BACKWARD_TILES(RUN)

}  // namespace ridge

#define ENTRY(name, ...) \
    extern "C" ridge_status attention_backward_cuda_##name(const ridge_call *call) { return ridge::run_##name(call); }
BACKWARD_TILES(ENTRY)
