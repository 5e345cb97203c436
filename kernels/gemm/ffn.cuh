/* The SwiGLU feed-forward layer of dense matrices in separate steps: gate values, up values, what a kernel makes of both, and y.
 * Host code, and that kernel. */
#ifndef RIDGE_GEMM_FFN_CUH
#define RIDGE_GEMM_FFN_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/maps/plain.cuh"
#include "gemm/best.cuh"

namespace ridge {

/* C = A B^T by what is quickest. */
inline ridge_status ffn_product(const ridge_call *call, const matrix_view &a, const matrix_view &b,
                                const matrix_view &c) {
    return gemm_at_best(gemm_call(a, transposed(b), c, call->dtype, false, stream_of(call)));
}

/* hidden = silu(gate) hidden. */
template <typename T>
struct swiglu_element {
    matrix<const T> gate;
    matrix<T> hidden;
    __device__ void operator()(int64_t i, int64_t j) const {
        hidden.at(i, j) = from_float<T>(silu(to_float(gate.at(i, j))) * to_float(hidden.at(i, j)));
    }
};

/* hidden = silu(x g^T) (x u^T); gate: as large, for gate values. */
template <typename T>
ridge_status ffn_hidden_in_steps(const ridge_call *call, const matrix_view &x, const matrix_view &g,
                                 const matrix_view &u, const matrix_view &gate, const matrix_view &hidden) {
    RIDGE_TRY(ffn_product(call, x, g, gate));
    RIDGE_TRY(ffn_product(call, x, u, hidden));
    return launch_plain(call, hidden.rows, hidden.columns,
                        swiglu_element<T>{{(const T *)gate.base, gate.line}, {(T *)hidden.base, hidden.line}});
}

}  // namespace ridge

#endif
