/* Attention by tcgen05, in the tiles of ATTENTION_TENSOR_TILES. */
#include "attention/maps.cuh"
#include "attention/tensor.cuh"

extern "C" {
#include "attention/tiles.h"
}

namespace ridge {

template <class S>
static ridge_status run_in_tensor_memory(attention_args a, cudaStream_t stream) {
    using T = typename S::T;
    static allowed_per_device allowed;
    const auto kernel = attention_tensor_kernel<S>;
    const int kv_heads = a.heads / a.group;
    attention_maps maps;
    if (device_capability() != 100) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(
        cuda_status(allowed.get([&] { return allow_shared((const void *)kernel, S::bytes); }), "cudaFuncSetAttribute"));
    if (!attention_map_of<T>(&maps.q, a.q, a.q_strides, a.m, a.batch, a.heads, a.depth, S::rows) ||
        !attention_map_of<T>(&maps.k, a.k, a.k_strides, a.n, a.batch, kv_heads, a.depth, S::N) ||
        !attention_map_of<T>(&maps.v, a.v, a.v_strides, a.n, a.batch, kv_heads, a.values, S::N))
        return RIDGE_UNSUPPORTED;
    a.m_tiles = (a.m + S::M - 1) / S::M;
    a.section = attention_section(a, 1);
    a.longest_first = a.mask.right < a.n; /* later queries see more */
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    const int64_t tiles = (int64_t)a.m_tiles * a.batch * a.heads;
    const launch_shape shape = {dim3((unsigned)(tiles < sms ? tiles : sms)), S::threads, S::bytes};
    return launch_overlapping(kernel, shape, stream, true, maps, a);
}

}  // namespace ridge

#define RUN(name, depth, ...)                                                                    \
    extern "C" ridge_status attention_cuda_##name(const ridge_call *call) {                      \
        const ridge::attention_args a = ridge::attention_args_of(call);                          \
        if (ridge::attention_is_empty(a)) return RIDGE_OK;                                       \
        return ridge::with_attention_kind(call, [&]<typename T, bool Shaped>() {                 \
            return ridge::run_in_tensor_memory<ridge::attention_tensor_shape<T, depth, Shaped>>( \
                a, ridge::stream_of(call));                                                      \
        });                                                                                      \
    }
ATTENTION_TENSOR_TILES(RUN)
