/* A launch of attention by a tile of tiles.h: tensor maps, the order of tiles, parts of keys. Host code. */
#ifndef RIDGE_ATTENTION_RUN_CUH
#define RIDGE_ATTENTION_RUN_CUH

#include "attention/forward.cuh"
#include "attention/maps.cuh"

namespace ridge {

/* Packed tiles: where parts leave their results. */
template <class S>
inline void take_parts(attention_args *a, const attention_tile &tile, const ridge_call *call, int sms) {
    const int64_t rows = (int64_t)a->batch * a->heads * a->m;
    a->parts = attention_parts(&tile, call->dim, call->option, sms);
    a->order.m_tiles = (a->m * a->group + 63) / 64;
    if (a->parts < 2) return;
    a->part_sums = (float *)call->scratch;
    a->part_ends = (float2 *)(a->part_sums + a->parts * rows * tile.values);
}

/* Clusters of that many blocks that run at the same time, asked once for each device. */
template <auto Kernel>
static int resident_parts(const launch_shape &shape) {
    static per_device<int> resident[ATTENTION_CLUSTER + 1];
    const void *const kernel = (const void *)Kernel;
    return resident[shape.cluster].get([&] {
        int clusters = 0;
        if (allow_shared(kernel, shape.bytes) == cudaSuccess && allow_large_clusters(kernel) == cudaSuccess)
            (void)cuda_status(resident_clusters(&clusters, kernel, shape), "");
        return clusters;
    });
}
/* Whether the blocks of each tile's parts are one cluster, and all of these run at the same time. */
template <auto Kernel>
static bool take_clusters(launch_shape *shape, int parts) {
    const int tiles = (int)shape->grid.x / parts;
    if (parts < 2 || parts > ATTENTION_CLUSTER || (int)shape->grid.x % parts != 0) return false;
    shape->cluster = parts;
    if (resident_parts<Kernel>(*shape) >= tiles) return true;
    shape->cluster = 1;
    return false;
}
/* The launch that merges parts. */
template <class S>
static ridge_status merge_by_launch(const attention_args &a, cudaStream_t stream) {
    const dim3 blocks((unsigned)((a.batch * a.heads * a.m + 3) / 4));
    return launch_overlapping(attention_merge<S>, {blocks, 128}, stream, device_overlaps(), a);
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

/* The tensor map of results, in boxes of a warp's rows. Parts of the keys leave otherwise. */
template <class S>
inline bool map_results(attention_maps *maps, const attention_args &a) {
    return S::sends && a.out_in_pieces &&
           attention_map_of<typename S::O>(&maps->out, a.out, a.out_strides, a.m, a.batch, a.heads, a.values, 16);
}

template <class S>
inline ridge_status run_tiles(attention_args a, const attention_tile &tile, const ridge_call *call) {
    const cudaStream_t stream = stream_of(call);
    using T = typename S::T;
    const void *const kernel = (const void *)attention_kernel<S>;
    constexpr int bytes = attention_memory<S>::bytes;
    const int kv_heads = a.heads / a.group;
    attention_maps maps;
    if (allow_shared(kernel, bytes) != cudaSuccess) return RIDGE_UNSUPPORTED;
    if (!attention_map_of<T>(&maps.q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, S::M) || !map_keys<S>(&maps, a))
        return RIDGE_UNSUPPORTED;
    a.out_mapped = map_results<S>(&maps, a);
    const int m_tiles = S::varlen ? attention_tiles_of(a.sequences, S::M, a.m) : (a.m + S::M - 1) / S::M;
    const bool later_queries_see_more = !S::varlen && a.mask.right < a.n;
    a.order = attention_order_of(a, m_tiles, attention_section(a, 1), later_queries_see_more);
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    if constexpr (S::packed) take_parts<S>(&a, tile, call, sms);
    const int64_t tiles = (int64_t)a.order.m_tiles * a.batch * (S::packed ? (int64_t)kv_heads * a.parts : a.heads);
    launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, bytes};
    if constexpr (S::packed) a.clustered = tiles <= sms && take_clusters<attention_kernel<S>>(&shape, a.parts);
    RIDGE_TRY(launch_overlapping(attention_kernel<S>, shape, stream, true, maps, a));
    if constexpr (S::packed)
        if (a.part_sums && !a.clustered) return merge_by_launch<S>(a, stream);
    return RIDGE_OK;
}

}  // namespace ridge

#endif
