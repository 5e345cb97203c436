/* Tensor maps of heads, and which heads' tiles run together. Host code. */
#ifndef RIDGE_ATTENTION_MAPS_CUH
#define RIDGE_ATTENTION_MAPS_CUH

#include "attention/call.cuh"
#include "cuda/host/tensor_map.cuh"

namespace ridge {

/* Boxes of `lines` rows of 128 bytes of one head of [rows, batch, heads, dimensions]. */
template <typename T>
bool attention_map_of(CUtensorMap *map, const void *base, const attention_strides &s, int rows, int batch, int heads,
                      int dimensions, int lines) {
    const auto bytes = [](int extent, int64_t stride) {
        return (cuuint64_t)(extent > 1 ? stride * (int64_t)sizeof(T) : 16);
    };
    return encode_map<4>(map, {map_type<T>,
                               base,
                               {(cuuint64_t)dimensions, (cuuint64_t)rows, (cuuint64_t)heads, (cuuint64_t)batch},
                               {bytes(rows, s.row), bytes(heads, s.head), bytes(batch, s.batch)},
                               {128 / (int)sizeof(T), (cuuint32_t)lines, 1, 1}});
}

/* Heads whose tiles run together, because of L2: as many as have their n rows, of `shared` heads each, in half of it, and
 * no fewer than let four tiles at a time read the same ones. The fewer sections the better: each ends with tiles that differ
 * in length. */
inline int attention_section(const attention_args &a, int shared) {
    const int64_t l2 = device_limit(cudaDevAttrL2CacheSize), each = 2 * (int64_t)a.n * shared * (a.depth + a.values);
    const int64_t few = device_limit(cudaDevAttrMultiProcessorCount) / 4, fit = each > 0 ? l2 / 2 / each : 1;
    const int64_t most = (fit > few ? fit : few > 1 ? few : 1) * a.group, all = (int64_t)a.batch * a.heads;
    const int64_t sections = (all + most - 1) / most, groups = all / a.group;
    return (int)((groups + sections - 1) / sections * a.group);
}

}  // namespace ridge

#endif
