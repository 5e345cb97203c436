/* A product of e4m3 within another operation, by the promoted tile that fp8_best.h has for it. Host code. */
#ifndef RIDGE_GEMM_FP8_BEST_CUH
#define RIDGE_GEMM_FP8_BEST_CUH

#include "gemm/fp8.cuh"

extern "C" {
#include "gemm/fp8_best.h"
}

namespace ridge {

template <matmul_tuning Tuned>
ridge_status fp8_by_promoted(const fp8_product &p, cudaStream_t stream, const gemm8_shares &shares) {
    if constexpr (Tuned.promote > 0) return fp8_by_tiles<Tuned>(p, stream, shares);
    return RIDGE_UNSUPPORTED;
}
/* scratch: that of `best`, which is of the product's extents. */
inline ridge_status fp8_by_choice(const fp8_product &p, const fp8_choice &best, void *scratch, cudaStream_t stream) {
    int tile = 0;
#define RUN(name, ...) \
    if (best.tile == tile++) return fp8_by_promoted<FP8_##name>(p, stream, {scratch, best.shares});
    FP8_TILES(RUN)
#undef RUN
    return RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#endif
