/* Products of up to 64 rows in 16 bits (gemm/few_rows.cu): K of five slices in two shares, which a cluster adds; outputs of two
 * tiles with a tail; 20 rows that run along K, 20 that run across it, and 13 that do,
 * are copied by threads, and have ten slices, more of a share than stages. */
#include "gemm/few_rows.cu"
#include "operand.h"

using namespace ridge;

/* The plan, without a choice: a cluster of two. */
extern "C" gemm_few_rows gemm_few_rows_of(const gemm_problem *g) {
    gemm_few_rows f = {};
    f.few = {g->m, g->a, g->a.step == 1};
    f.other = {g->n, {g->b.step, g->b.line, 0}, g->b.line == 1};
    f.cluster = 2, f.each = (g->k / 64 + 1) / 2;
    return f;
}
/* C = A B for A by rows or by columns, B by the other order. */
static long product_of(int m, int k, bool a_by_rows) {
    constexpr int n = 136;
    const int a_line = (m + 7) / 8 * 8;
    const operand<__nv_bfloat16> a((size_t)(a_by_rows ? m * k : k * a_line), 0), b((size_t)k * n, 1000000);
    std::vector<float> c((size_t)m * n);
    const matrix_view of_a = {a.device, m, k, a_by_rows ? k : 1, a_by_rows ? 1 : a_line};
    const matrix_view of_b = {b.device, k, n, a_by_rows ? 1 : n, a_by_rows ? k : 1};
    const matrix_view of_c = {device_array<float>(c.size(), NULL), m, n, n, 1};
    if (gemm_by_few_rows(gemm_call(of_a, of_b, of_c, RIDGE_BF16, true, 0)) != RIDGE_OK) exit(2);
    to_host(c.data(), (const float *)of_c.base, c.size());
    comparison all = {a_by_rows ? "along K" : m > 16 ? "across K" : "copied", 1e-3};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int s = 0; s < k; s++)
                sum += (double)a[(size_t)(i * of_a.line + s * of_a.step)] * b[(size_t)(s * of_b.line + j * of_b.step)];
            all.compare(c[(size_t)i * n + j], sum, i, j);
        }
    return all.wrong;
}

int main(void) { return product_of(20, 320, true) + product_of(20, 320, false) + product_of(13, 640, false) > 0; }
