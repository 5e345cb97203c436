/* Attention of e4m3 by its tiles: values are transposed, then one pass (forward.cuh, fp8.cuh). */
#include "attention/run.cuh"

extern "C" {
#include "attention/fp8.h"
}

namespace ridge {

/* Values transposed, in scratch, for steps of that many keys. */
template <int Values, int Keys>
static ridge_status transpose_values(attention_args *a, const ridge_call *call) {
    const int kv_heads = a->heads / a->group, slices = (int)attention_transposed_keys(a->n, Keys) / 32;
    const dim3 blocks((unsigned)(slices * 32 + TRANSPOSED_KEYS - 1) / TRANSPOSED_KEYS, (unsigned)(a->batch * kv_heads));
    uint8_t *const to = (uint8_t *)call->scratch;
    RIDGE_TRY(launch_overlapping(attention_transpose_values<Values>, {blocks, TRANSPOSED_THREADS}, stream_of(call),
                                 true, *a, to, slices));
    a->v = to;
    a->v_strides.head = (int64_t)slices * 32 * Values, a->v_strides.batch = kv_heads * a->v_strides.head;
    return RIDGE_OK;
}

template <int Depth, int Values, int Keys, int Groups>
static ridge_status run_fp8(const attention_tile &tile, const ridge_call *call) {
    attention_args a = attention_fp8_args_of(call);
    if (attention_is_empty(a)) return RIDGE_OK;
    RIDGE_TRY((transpose_values<Values, Keys>(&a, call)));
    return with_attention_kind(call, [&]<typename T, bool Shaped>() {
        using S = attention_shape<e4m3, Depth, Values, Keys, Groups, Shaped, false, attention_keys_lie::in_rows, T>;
        return run_tiles<S>(a, tile, call);
    });
}

}  // namespace ridge

#define ENTRY(name, depth, values, keys, groups, packed, step_us, tile_us, idea)             \
    extern "C" ridge_status attention_fp8_cuda_##name(const ridge_call *call) {              \
        const attention_tile tile = {depth, values, keys, groups, packed, step_us, tile_us}; \
        return ridge::run_fp8<depth, values, keys, groups>(tile, call);                      \
    }
ATTENTION_FP8_TILES(ENTRY)
