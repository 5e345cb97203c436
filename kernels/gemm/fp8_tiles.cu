/* The kernels of FP8_TILES: see fp8_best.cuh. */
#include "gemm/fp8_best.cuh"

namespace ridge {

ridge_status fp8_by_tile(int tile, const fp8_product &p, cudaStream_t stream, const gemm8_shares &shares) {
#define RUN(name, ...) \
    if (tile == FP8_TILE_##name) return fp8_by_tiles<FP8_##name>(p, stream, shares);
    FP8_TILES(RUN)
#undef RUN
    return RIDGE_UNSUPPORTED;
}

}  // namespace ridge
