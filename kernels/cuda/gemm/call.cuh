/* From a call of a target of C = A B to a product. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_CALL_CUH
#define RIDGE_KERNELS_CUDA_GEMM_CALL_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

namespace ridge {

/* C[m, n] = A[m, k] B[k, n]. */
struct matmul_call {
    matrix_view a, b, c;
    cudaStream_t stream;

    explicit matmul_call(const ridge_call *call)
        : a(view_of(call->in[0])), b(view_of(call->in[1])), c(view_of(call->out[0])), stream(stream_of(call)) {}
};

/* f(call, T()), T bf16 or f16. */
template <typename F>
ridge_status with_matmul_16(const ridge_call *call, const F &f) {
    const matmul_call m(call);
    if (m.c.rows == 0) return RIDGE_OK;
    if (call->dtype == RIDGE_BF16) return f(m, __nv_bfloat16());
    return call->dtype == RIDGE_F16 ? f(m, __half()) : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#endif
