/* Products of e4m3 by the tiles of FP8_TILES, and the one that fp8_best.h has for a product within another operation. Host code.
 * Their kernels are those of fp8_tiles.cu alone. */
#ifndef RIDGE_GEMM_FP8_BEST_CUH
#define RIDGE_GEMM_FP8_BEST_CUH

#include "gemm/fp8.cuh"

extern "C" {
#include "gemm/fp8_best.h"
}

namespace ridge {

/* tile: FP8_TILE_… */
ridge_status fp8_by_tile(int tile, const fp8_product &p, cudaStream_t stream, const gemm8_shares &shares = {});

/* scratch: that of `best`, which is of the product's extents. */
inline ridge_status fp8_by_choice(const fp8_product &p, const fp8_choice &best, void *scratch, cudaStream_t stream) {
    return fp8_by_tile(best.tile, p, stream, {scratch, best.shares});
}

}  // namespace ridge

#endif
