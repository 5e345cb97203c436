/* A product in 16 bits by the pipeline of gemm/matmul.cuh in one tuning: what rungs of the ladder on Hopper compare. A
 * and B row by row, in lines of 16-byte pieces; C leaves by TMA. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_RUNG_CUH
#define RIDGE_KERNELS_CUDA_GEMM_RUNG_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/matmul_run.cuh"

namespace ridge {

/* Of a target, whose kernels are its own: one kernel may not be compiled in two places. */
template <class Target, typename T>
struct rung_store : store_epilogue<T, 256, false> {};

template <class Target, matmul_tuning Tuned, typename T>
ridge_status matmul_rung(const matmul_call &m, T) {
    using S = matmul_shape<T, Tuned, true, false>;
    const matmul_plan plan = matmul_whole(m.a.columns, S::K, 8);
    if (m.c.rows > INT32_MAX || m.c.columns > INT32_MAX || m.a.columns > INT32_MAX) return RIDGE_UNSUPPORTED;
    rung_store<Target, T> e = {};
    if (!make_map<T>(&e.map, lines_of(m.c), 64)) return RIDGE_FAILED;
    return matmul_run<S>(lines_of(m.a), lines_of(m.b), m.c.rows, m.c.columns, plan, e, m.stream);
}

}  // namespace ridge

#endif
