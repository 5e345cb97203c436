/* Attention by tcgen05, in the tiles of ATTENTION_TENSOR_TILES, also of sequences that lie one behind the other. */
#include "attention/maps.cuh"
#include "attention/tensor.cuh"

extern "C" {
#include "attention/tiles.h"
}

namespace ridge {

template <class S>
static ridge_status run_in_tensor_memory(attention_args a, cudaStream_t stream) {
    using T = typename S::T;
    const auto kernel = attention_tensor_kernel<S>;
    const int kv_heads = a.heads / a.group;
    attention_maps maps;
    if (device_capability() != 100) return RIDGE_UNSUPPORTED;
    if (!attention_map_of<T>(&maps.q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, S::rows) ||
        !attention_map_of<T>(&maps.k, a.k, a.k_strides, a.n, a.batch, kv_heads, a.depth, S::N) ||
        !attention_map_of<T>(&maps.v, a.v, a.v_strides, a.n, a.batch, kv_heads, a.values, S::N))
        return RIDGE_UNSUPPORTED;
    const int m_tiles = S::varlen ? attention_tiles_of(a.sequences, S::M, a.m) : (a.m + S::M - 1) / S::M;
    const bool later_queries_see_more = !S::varlen && a.mask.right < a.n;
    a.order = attention_order_of(a, m_tiles, attention_section(a, 1), later_queries_see_more);
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    const int64_t tiles = (int64_t)a.order.m_tiles * a.batch * a.heads;
    const launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, S::bytes};
    return launch_overlapping(kernel, shape, stream, true, maps, a);
}

template <int Depth, attention_keys_lie Lie>
static ridge_status run_tensor_tile(const attention_args &a, const ridge_call *call) {
    if (attention_is_empty(a)) return RIDGE_OK;
    return with_attention_kind(call, [&]<typename T, bool Shaped>() {
        return run_in_tensor_memory<attention_tensor_shape<T, Depth, Shaped, Lie>>(a, stream_of(call));
    });
}

}  // namespace ridge

#define RUN(name, depth, ...)                                                      \
    extern "C" ridge_status attention_cuda_##name(const ridge_call *call) {        \
        using namespace ridge;                                                     \
        const attention_args a = attention_args_of(call);                          \
        return run_tensor_tile<depth, attention_keys_lie::in_rows>(a, call);       \
    }                                                                              \
    extern "C" ridge_status attention_varlen_cuda_##name(const ridge_call *call) { \
        using namespace ridge;                                                     \
        const attention_args a = attention_varlen_args_of(call);                   \
        return run_tensor_tile<depth, attention_keys_lie::in_sequences>(a, call);  \
    }
ATTENTION_TENSOR_TILES(RUN)
