/* The same over keys in pages, by attention's tiles: a step's keys come page by page, where the table says (attention_source).
 * Parts of the keys, of packed tiles, are chosen for the longest sequence there can be; each sequence divides its own among them. */
#include "attention/run.cuh"

extern "C" {
#include "attention/paged.h"
}

namespace ridge {

#define RUN(name, depth, values, keys, groups, packed, step_us, tile_us, idea)                                       \
    static ridge_status run_##name(const ridge_call *call) {                                                         \
        const attention_args a = attention_paged_args_of(call);                                                      \
        const attention_tile tile = {depth, values, keys, groups, packed, step_us, tile_us};                         \
        const attention_paged_call rows(call);                                                                       \
        if (attention_is_empty(a)) return RIDGE_OK;                                                                  \
        return with_attention_kind<packed>(call, [&]<typename T, bool Shaped>() {                                    \
            using S = attention_shape<T, depth, values, keys, groups, Shaped, packed, attention_keys_lie::in_pages>; \
            return run_tiles<S>(a, tile, &rows.call);                                                                \
        });                                                                                                          \
    }
ATTENTION_PAGED_TILES(RUN)

}  // namespace ridge

#define ENTRY(name, ...) \
    extern "C" ridge_status attention_paged_cuda_##name(const ridge_call *call) { return ridge::run_##name(call); }
ATTENTION_PAGED_TILES(ENTRY)
