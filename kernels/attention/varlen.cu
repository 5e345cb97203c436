/* The same of sequences that lie one behind the other, by those of the tiles that are not packed: a block finds the sequence of its
 * next tile by bisection (problem.h). A step of keys may begin before the sequence, or end behind it: such keys are masked. */
#include "attention/run.cuh"

namespace ridge {

#define RUN(name, depth, values, keys, groups, packed, step_us, tile_us, idea)                                      \
    static ridge_status run_##name(const ridge_call *call) {                                                        \
        const attention_args a = attention_varlen_args_of(call);                                                    \
        const attention_tile tile = {depth, values, keys, groups, packed, step_us, tile_us};                        \
        if (attention_is_empty(a)) return RIDGE_OK;                                                                 \
        return with_attention_kind(call, [&]<typename T, bool Shaped>() {                                           \
            return run_tiles<                                                                                       \
                attention_shape<T, depth, values, keys, groups, Shaped, packed, attention_keys_lie::in_sequences>>( \
                a, tile, call);                                                                                     \
        });                                                                                                         \
    }
ATTENTION_VARLEN_TILES(RUN)

}  // namespace ridge

#define ENTRY(name, ...) \
    extern "C" ridge_status attention_varlen_cuda_##name(const ridge_call *call) { return ridge::run_##name(call); }
ATTENTION_VARLEN_TILES(ENTRY)
