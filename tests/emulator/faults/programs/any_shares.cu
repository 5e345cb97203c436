/* Shares of K by fp32 multiply-adds (gemm/any_shares.cu): two tiles and tails in M and N, a last share that is shorter. What
 * would add the shares does so on the host. */
#include "gemm/any_shares.cu"
#include "operand.h"

using namespace ridge;

extern "C" gemm_any_shares gemm_any_shares_of(const gemm_problem *) { return {}; }

static std::vector<float> added;

/* C = the sums of all shares. */
ridge_status ridge::gemm_add_shares(const gemm_call &g, const gemm_share_sums &s) {
    const size_t line = (size_t)s.line, next = (size_t)s.rows * line;
    std::vector<float> all((size_t)s.shares * next);
    require(cudaStreamSynchronize(g.stream), "cudaStreamSynchronize");
    for (size_t at = 0; at < all.size(); at += line) /* what is behind a line's columns is nobody's */
        to_host(&all[at], s.first + at, (size_t)s.columns);
    added.assign(next, 0.0f);
    for (size_t at = 0; at < all.size(); at++) added[at % next] += all[at];
    return RIDGE_OK;
}

static long product_of(const char *name, any_split split, int m, int n, int k) {
    const operand<float> a((size_t)m * k, 0), b((size_t)k * n, 1000000);
    const matrix_view of_a = {a.device, m, k, k, 1}, of_b = {b.device, k, n, n, 1}, of_c = {NULL, m, n, n, 1};
    const size_t line = (size_t)gemm_share_line(n);
    gemm_call g(of_a, of_b, of_c, RIDGE_F32, false, 0);
    g.scratch = (uint8_t *)device_array<float>((size_t)split.shares * m * line, NULL);
    if (multiply_shares<float>(g, split) != RIDGE_OK) exit(2);
    comparison all = {name, 1e-5};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int s = 0; s < k; s++) sum += (double)a[(size_t)(i * k + s)] * b[(size_t)(s * n + j)];
            all.compare(added[(size_t)i * line + (size_t)j], sum, i, j);
        }
    return all.wrong;
}

int main(void) {
    return product_of("medium", {ANY_MEDIUM, 3, 64}, 71, 67, 160) +
               product_of("small", {ANY_SMALL, 2, 256}, 19, 21, 300) >
           0;
}
