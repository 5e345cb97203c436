/* Attention by the tiles of tiles.h. */
#include "attention/run.cuh"

namespace ridge {

#define RUN(name, depth, values, keys, groups, packed, step_us, tile_us, idea)                                \
    static ridge_status run_##name(const ridge_call *call) {                                                  \
        const attention_args a = attention_args_of(call);                                                     \
        const attention_tile tile = {depth, values, keys, groups, packed, step_us, tile_us};                  \
        if (attention_is_empty(a)) return RIDGE_OK;                                                           \
        return with_attention_kind<packed>(call, [&]<typename T, bool Shaped>() {                             \
            return run_tiles<attention_shape<T, depth, values, keys, groups, Shaped, packed>>(a, tile, call); \
        });                                                                                                   \
    }
ATTENTION_TILES(RUN)

}  // namespace ridge

#define ENTRY(name, ...) \
    extern "C" ridge_status attention_cuda_##name(const ridge_call *call) { return ridge::run_##name(call); }
ATTENTION_TILES(ENTRY)
