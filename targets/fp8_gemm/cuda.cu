/* C = (sa A) (sb B)^T in e4m3 on a GPU, by the products of gemm/fp8.cuh: see README.md. */
#include "gemm/fp8_best.cuh"

extern "C" {
#include "fp8_gemm.h"
}

namespace {

using namespace ridge;

fp8_product product_of(const ridge_call *call) {
    return {view_of(call->in[FP8_A]),
            view_of(call->in[FP8_B]),
            view_of(call->out[0]),
            fp8_scales_of(&call->in[FP8_A_SCALE], call->dim[FP8_M]),
            fp8_scales_of(&call->in[FP8_B_SCALE], call->dim[FP8_N]),
            call->dtype};
}

}  // namespace

extern "C" ridge_status fp8_gemm_cuda_any(const ridge_call *call) { return fp8_by_elements(call, product_of(call)); }
#define RUN(name, ...)                                                           \
    extern "C" ridge_status fp8_gemm_cuda_##name(const ridge_call *call) {       \
        const int64_t *const d = call->dim;                                      \
        return fp8_by_tile(FP8_TILE_##name, product_of(call), stream_of(call),   \
                           gemm8_shares_of(call, d[FP8_M], d[FP8_N], d[FP8_K])); \
    }
FP8_TILES(RUN)
