/* C = (a_scale A) (b_scale B)^T in int8 on a GPU, by the products of gemm/int8.cuh: see README.md. */
#include "gemm/int8.cuh"

extern "C" {
#include "int8_gemm.h"
}

namespace {

using namespace ridge;

int8_product product_of(const ridge_call *call) {
    return {view_of(call->in[INT8_A]),
            view_of(call->in[INT8_B]),
            view_of(call->out[0]),
            (const float *)ridge_data(&call->in[INT8_A_SCALE]),
            (const float *)ridge_data(&call->in[INT8_B_SCALE]),
            call->dtype};
}

}  // namespace

extern "C" ridge_status int8_gemm_cuda_any(const ridge_call *call) { return int8_by_elements(call, product_of(call)); }
#define RUN(name, ...)                                                                             \
    extern "C" ridge_status int8_gemm_cuda_##name(const ridge_call *call) {                        \
        const int64_t *const d = call->dim;                                                        \
        return int8_by_tiles<INT8_##name>(product_of(call), stream_of(call),                       \
                                          gemm8_shares_of(call, d[INT8_M], d[INT8_N], d[INT8_K])); \
    }
INT8_TILES(RUN)
