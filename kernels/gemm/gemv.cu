/* Products of few rows, or columns, by the kernels of cuda/gemv: see gemv.h. */
#include "gemm/call.cuh"
#include "cuda/gemv/call.cuh"

extern "C" {
#include "gemm/gemv.h"
}

namespace ridge {

template <typename T>
static ridge_status multiply(const gemm_call &g, const gemm_gemv &v) {
    const matrix_view b = transposed(g.b), &x = v.transposed ? b : g.a, &w = v.transposed ? g.a : b;
    float *const sums = (float *)g.scratch;
    gemv_args<T> a = gemv_args_of<T>(x, w, v.plan);
    a.to.z = sums, a.to.line = v.line, a.to.next = v.few * v.line;
    return gemv_multiply(a, v.along, v.plan, 1, g.stream);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_gemv(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    gemm_problem problem = g.problem();
    problem.dtype = call->dtype; /* the plan tells f32 from tf32 */
    const gemm_gemv v = gemm_gemv_of(&problem);
    RIDGE_TRY(with_storage(g.dtype, [&]<typename T>() { return multiply<T>(g, v); }));
    return gemm_add_shares(
        g, {(const float *)g.scratch, v.few, v.outputs, v.line, (int)v.plan.shares, v.transposed, g.alpha});
}
