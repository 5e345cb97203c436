/* Products in 16 bits by wgmma: see wgmma.cuh. */
#include "gemm/wgmma.cuh"

namespace ridge {

/* Tiles that differ in `split` alone share kernels: a tuning is what a kernel is made of. */
#define TILE(name, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_)                          \
    [](const gemm_call &g) {                                                                                 \
        constexpr matmul_tuning tuned = {                                                                    \
            .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_};       \
        return gemm_in_tile<tuned, false>({columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}, g); \
    },
ridge_status gemm_by_tile(int tile, const gemm_call &g) {
    static constexpr ridge_status (*run[])(const gemm_call &) = {GEMM_TILES(TILE)};
    return run[tile](g);
}

}  // namespace ridge

#define RUN(name, ...)                                                           \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {           \
        using namespace ridge;                                                   \
        const gemm_call g(call);                                                 \
        return g.has_terms() ? gemm_by_tile_with_terms(GEMM_NUMBER_OF_##name, g) \
                             : gemm_by_tile(GEMM_NUMBER_OF_##name, g);           \
    }
GEMM_TILES(RUN)
