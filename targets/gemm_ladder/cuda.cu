/* The lowest rung: C = A B as one writes it first. Neighbouring threads have neighbouring columns, so loads of B are whole
 * lines; every element is read from memory or a cache for each product that it is a factor of. */
#include "cuda/gemm/call.cuh"
#include "cuda/maps/plain.cuh"

using namespace ridge;

namespace {

template <typename T>
struct naive_element {
    matrix<const T> a, b;
    matrix<T> c;
    int64_t k;
    __device__ void operator()(int64_t i, int64_t j) const {
        float sum = 0.0f;
        for (int64_t d = 0; d < k; d++) sum = fmaf(to_float(a.at(i, d)), to_float(b.at(d, j)), sum);
        c.at(i, j) = from_float<T>(sum);
    }
};

}  // namespace

extern "C" ridge_status gemm_ladder_cuda_naive(const ridge_call *call) {
    return with_matmul_16(call, [&](const matmul_call &m, auto type) {
        using T = decltype(type);
        return launch_plain(call, m.c.rows, m.c.columns,
                            naive_element<T>{matrix_in<T>(&call->in[0]), matrix_in<T>(&call->in[1]),
                                             matrix_out<T>(&call->out[0]), m.a.columns});
    });
}
