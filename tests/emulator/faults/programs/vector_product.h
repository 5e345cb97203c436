/* C = A B of one column, beside sums in fp64. */
#ifndef FAULTS_VECTOR_PRODUCT_H
#define FAULTS_VECTOR_PRODUCT_H

#include "operand.h"

/* A's element (i, s) is i line + s step further on. run(g): the launch. */
template <typename T, typename F>
static long vector_product_of(const char *name, int m, int k, int line, int step, const F &run) {
    using namespace ridge;
    const operand<T> a((size_t)m * k, 0), b((size_t)k, 1000000);
    std::vector<T> c((size_t)m);
    const matrix_view of_a = {a.device, m, k, line, step}, of_b = {b.device, k, 1, 1, 1};
    const matrix_view of_c = {device_array<T>(c.size(), NULL), m, 1, 1, 1};
    const gemm_call g(of_a, of_b, of_c, sizeof(T) == 4 ? RIDGE_F32 : RIDGE_BF16, false, 0);
    if (run(g) != RIDGE_OK) exit(2);
    to_host(c.data(), (const T *)of_c.base, c.size());
    comparison all = {name, 1e-5};
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int s = 0; s < k; s++) sum += (double)a[(size_t)(i * line + s * step)] * b[(size_t)s];
        const double found = on_host(c[(size_t)i]), unit = sizeof(T) == 4 ? 0 : fabs(sum) / 128;
        all.compare(fabs(found - sum) <= unit ? sum : found, sum, i, 0);
    }
    return all.wrong;
}
#endif
