/* C = A B in 16 bits by multiply-adds: any strides and alignment, where tiles by TMA or cp.async refuse. */
#include "cuda/gemm/any.cuh"
#include "cuda/gemm/call.cuh"

using namespace ridge;

namespace {

/* A type of its own: one kernel may not be compiled in two places. */
template <typename T>
struct plain_store : any_store<T> {
    using any_store<T>::any_store;
};

}  // namespace

extern "C" ridge_status matmul_cuda_any(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        return any_run(any_matrix<T>(m.a), any_matrix<T>(transposed(m.b)), m.c.rows, m.c.columns, m.a.columns,
                       plain_store<T>(m.c, false), m.stream);
    });
}
