/* Which promoted tile of FP8_TILES a product within another operation takes. Of C and CUDA. */
#ifndef RIDGE_GEMM_FP8_BEST_H
#define RIDGE_GEMM_FP8_BEST_H

#include "gemm/gemm8.h"

#define FP8_NUMBER(name, ...) FP8_TILE_##name,
enum { FP8_TILES(FP8_NUMBER) FP8_N_TILES };
#undef FP8_NUMBER

typedef struct fp8_choice {
    int tile; /* of FP8_TILES */
    int shares;
    double us;
    size_t scratch; /* of sums of shares of K */
} fp8_choice;

/* The tile that is predicted to be the quickest. moved: bytes of operands and C. */
static inline fp8_choice fp8_quickest(const gemm8_extents *e, double moved) {
#define FP8_TILE(name, columns, stages, cluster_m, cluster_n, promote, shares, slice_us, rate, idea) \
    {columns, cluster_m, cluster_n, shares, slice_us, rate},
#define FP8_PROMOTES(name, columns, stages, cluster_m, cluster_n, promote, ...) (promote) > 0,
    const gemm8_tile tiles[] = {FP8_TILES(FP8_TILE)};
    const bool promotes[] = {FP8_TILES(FP8_PROMOTES)};
#undef FP8_TILE
#undef FP8_PROMOTES
    fp8_choice best = {-1, 1, 0, 0};
    for (int i = 0; i < (int)(sizeof tiles / sizeof *tiles); i++) {
        const double us = gemm8_us(&tiles[i], e, moved);
        if (!promotes[i] || (best.tile >= 0 && us >= best.us)) continue;
        best.tile = i, best.shares = gemm8_share_count(&tiles[i], e), best.us = us;
        best.scratch = gemm8_scratch(&tiles[i], e);
    }
    return best;
}

#endif
