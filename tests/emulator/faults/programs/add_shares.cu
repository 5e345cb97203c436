/* The end of a product by gemm/shares.cu: C from the sums of shares of K, whose number decides how many warps have a row
 * together; of C as it lies and of its transpose. What would multiply writes made-up sums. */
#include "gemm/shares.cu"
#include "operand.h"

using namespace ridge;

static long end_of(int rows, int columns, int shares, bool transposed) {
    const size_t line = (size_t)(columns + 31) / 32 * 32;
    std::vector<float> sums((size_t)(shares * rows) * line);
    for (size_t i = 0; i < sums.size(); i++) sums[i] = value_of((unsigned)i);
    float *const of_shares = device_array<float>(sums.size(), NULL);
    for (size_t at = 0; at < sums.size(); at += line) /* what is behind a line's columns is nobody's */
        require(cudaMemcpy(of_shares + at, &sums[at], (size_t)columns * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    const int m = transposed ? columns : rows, n = transposed ? rows : columns;
    std::vector<float> c((size_t)m * n);
    float *const no_operand = device_array<float>(1, NULL);
    const matrix_view a = {no_operand, m, 64, 64, 1}, b = {no_operand, 64, n, 1, 64},
                      to = {device_array<float>(c.size(), NULL), m, n, n, 1};
    const gemm_call g(a, b, to, RIDGE_F32, false, 0);
    if (gemm_add_shares(g, {of_shares, rows, columns, (int64_t)line, shares, transposed, 0.5f}) != RIDGE_OK) exit(2);
    to_host(c.data(), (const float *)to.base, c.size());
    comparison all = {transposed ? "transposed" : "as it lies", 1e-5};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int s = 0; s < shares; s++)
                sum += sums[(size_t)(s * rows + (transposed ? j : i)) * line + (size_t)(transposed ? i : j)];
            all.compare(c[(size_t)i * n + j], 0.5 * sum, i, j);
        }
    return all.wrong;
}

int main(void) {
    return end_of(11, 75, 1, false) + end_of(3, 75, 5, false) + end_of(2, 40, 19, false) + end_of(11, 75, 1, true) +
               end_of(5, 70, 6, true) + end_of(9, 40, 2, false) >
           0;
}
