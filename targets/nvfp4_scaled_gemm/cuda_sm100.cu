/* C = A B^T by block-scaled tcgen05, A and B in NVFP4: see README.md. Baseline: a tile a block, one stage. Optimized: persistent
 * blocks, or pairs of them, with the sums of two tiles. */
#include "cuda/gemm/tensor_nvfp4_run.cuh"

extern "C" {
#include "nvfp4_scaled_gemm.h"
}

namespace {

using namespace ridge;

nvfp4_matrix matrix_of(const ridge_call *call, int codes, int scales, int tensor) {
    const DLTensor *q = &call->in[codes], *s = &call->in[scales];
    return {ridge_data(q),
            ridge_data(s),
            q->shape[0],
            call->dim[SCALED_K],
            ridge_row_stride(q) / 2,
            ridge_row_stride(s),
            (const float *)ridge_data(&call->in[tensor])};
}
template <typename F>
ridge_status with_operands(const ridge_call *call, const F &f) {
    const nvfp4_matrix a = matrix_of(call, SCALED_A, SCALED_A_SCALE, SCALED_A_TENSOR),
                       b = matrix_of(call, SCALED_B, SCALED_B_SCALE, SCALED_B_TENSOR);
    const matrix_view c = view_of(call->out[0]);
    if (call->dim[SCALED_M] == 0) return RIDGE_OK;
    if (call->dtype == RIDGE_BF16) return f(a, b, c, __nv_bfloat16(), stream_of(call));
    return call->dtype == RIDGE_F16 ? f(a, b, c, __half(), stream_of(call)) : RIDGE_UNSUPPORTED;
}

}  // namespace

extern "C" ridge_status nvfp4_scaled_gemm_cuda_one_tile(const ridge_call *call) {
    return with_operands(call, [](auto... of) { return tensor_nvfp4_tile_rows(of...); });
}
extern "C" ridge_status nvfp4_scaled_gemm_cuda_blocks(const ridge_call *call) {
    return with_operands(call, [](auto... of) { return tensor_nvfp4_rows<NVFP4_BLOCKS>(of...); });
}
extern "C" ridge_status nvfp4_scaled_gemm_cuda_pairs(const ridge_call *call) {
    return with_operands(call, [](auto... of) { return tensor_nvfp4_rows<NVFP4_PAIRS>(of...); });
}
