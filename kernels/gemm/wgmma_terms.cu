/* Products in 16 bits by wgmma, with terms: see wgmma.cuh. */
#include "gemm/wgmma.cuh"

namespace ridge {

/* Shares of K leave as they are, and have their terms from gemm_add_shares. */
#define TILE(name, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_)                             \
    case GEMM_NUMBER_OF_##name: {                                                                               \
        constexpr matmul_tuning tuned = {                                                                       \
            .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_};          \
        if constexpr (split_)                                                                                   \
            return gemm_by_tile(tile, g);                                                                       \
        else                                                                                                    \
            return gemm_in_tile<tuned, true>({columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}, g); \
    }
ridge_status gemm_by_tile_with_terms(int tile, const gemm_call &g) {
    switch (tile) {
        GEMM_TERMS_TILES(TILE)
        default: return RIDGE_UNSUPPORTED;
    }
}

}  // namespace ridge
