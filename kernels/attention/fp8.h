/* Attention of e4m3: dims, options and first inputs of attention, then scales, q [batch, heads], k and v [batch, kv_heads]:
 * scores are scale q_scale k_scale q . k, and the result is v_scale times the sum. Of C and CUDA. */
#ifndef RIDGE_ATTENTION_FP8_H
#define RIDGE_ATTENTION_FP8_H

#include "attention/ways.h"

enum { ATTENTION_IN_Q_SCALE = ATTENTION_INPUTS, ATTENTION_IN_K_SCALE, ATTENTION_IN_V_SCALE };

/* As in tiles.h: times are of an H100. */
#define ATTENTION_FP8_TILES(X)                                                           \
    X(tile_64, 64, 64, 96, 3, false, 1.16, 5.7, "192 queries by 96 keys, d to 64")       \
    X(tile_128, 128, 128, 160, 2, false, 1.77, 5.5, "128 queries by 160 keys, d to 128") \
    X(tile_128_128, 128, 128, 128, 2, false, 1.49, 4.6,                                  \
      "128 queries by 128 keys, steps of one tile overlap those of the next")

#ifdef __cplusplus
extern "C" {
#endif

#define ATTENTION_ONE_MORE(...) +1
enum { ATTENTION_FP8_WAYS = 0 ATTENTION_FP8_TILES(ATTENTION_ONE_MORE) + 1 };
#undef ATTENTION_ONE_MORE
extern const ridge_way attention_fp8_ways[ATTENTION_FP8_WAYS];

/* Keys of transposed values, whole steps of `step`, and bytes of all. */
static inline int64_t attention_transposed_keys(int64_t n, int step) { return (n + step - 1) / step * step; }
static inline int64_t attention_transposed_bytes(const attention_tile *t, const int64_t *dim) {
    return dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS] * attention_transposed_keys(dim[ATTENTION_N], t->keys) *
           t->values;
}

/* The baseline: operands in 16 bits through memory, then attention's. */
int64_t attention_unpacked_elements(const int64_t *dim);
size_t attention_fp8_unfused_scratch(const ridge_case *c, int threads);
void attention_fp8_unfused_traffic(const ridge_case *c, ridge_traffic *traffic);
void attention_fp8_work(const ridge_case *c, ridge_work *w);

#ifdef __cplusplus
}
#endif

#endif
