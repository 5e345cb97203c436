/* The end of a product of few rows by gemm/gemv.cu: C from the sums of shares of K, whose number decides how many warps
 * have a row together; of few rows, and of few columns. What would multiply writes made-up sums. */
#include "cuda/gemv/call.cuh"
#include "operand.h"

namespace ridge {

static std::vector<float> sums_of_shares;

template <>
ridge_status gemv_multiply<float>(const gemv_args<float> &a, bool, const gemv_plan &, int, cudaStream_t) {
    for (size_t share = 0; share < sums_of_shares.size() / (size_t)a.to.next; share++)
        for (int row = 0; row < a.batch; row++) { /* what is behind a line's outputs is nobody's */
            const size_t at = share * (size_t)a.to.next + (size_t)(row * a.to.line);
            require(cudaMemcpy(a.to.z + at, &sums_of_shares[at], (size_t)a.outputs * 4, cudaMemcpyHostToDevice),
                    "cudaMemcpy");
        }
    return RIDGE_OK;
}
template <>
ridge_status gemv_multiply<__half>(const gemv_args<__half> &, bool, const gemv_plan &, int, cudaStream_t) {
    return RIDGE_UNSUPPORTED;
}
template <>
ridge_status gemv_multiply<__nv_bfloat16>(const gemv_args<__nv_bfloat16> &, bool, const gemv_plan &, int,
                                          cudaStream_t) {
    return RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#include "gemm/gemv.cu"

using namespace ridge;

extern "C" gemm_gemv gemm_gemv_of(const gemm_problem *) { return {}; }

static long end_of(int few, int outputs, int shares, bool transposed) {
    gemm_gemv v = {transposed,           few, outputs, true, {GEMV_FFMA, 4, (few + 3) / 4, 64, shares, 1}, 0.0,
                   gemv_stride(outputs), 0};
    sums_of_shares.assign((size_t)(shares * few * v.line), 0.0f);
    for (size_t i = 0; i < sums_of_shares.size(); i++) sums_of_shares[i] = value_of((unsigned)i);
    const int m = transposed ? outputs : few, n = transposed ? few : outputs;
    std::vector<float> c((size_t)m * n);
    float *const no_operand = device_array<float>(1, NULL);
    const matrix_view a = {no_operand, m, 64, 64, 1}, b = {no_operand, 64, n, 1, 64},
                      to = {device_array<float>(c.size(), NULL), m, n, n, 1};
    gemm_call g(a, b, to, RIDGE_F32, false, 0);
    g.scratch = (uint8_t *)device_array<float>(sums_of_shares.size(), NULL);
    if (gemv_to<float, float>(g, v) != RIDGE_OK) exit(2);
    to_host(c.data(), (const float *)to.base, c.size());
    comparison all = {transposed ? "few columns" : "few rows", 1e-5};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int s = 0; s < shares; s++)
                sum += sums_of_shares[(size_t)((s * few + (transposed ? j : i)) * v.line + (transposed ? i : j))];
            all.compare(c[(size_t)i * n + j], sum, i, j);
        }
    return all.wrong;
}

int main(void) {
    return end_of(11, 75, 1, false) + end_of(3, 75, 5, false) + end_of(2, 40, 19, false) + end_of(11, 75, 1, true) +
               end_of(5, 70, 6, true) >
           0;
}
