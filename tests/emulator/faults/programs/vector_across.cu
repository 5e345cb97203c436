/* A matrix times a vector across K (gemm/vector_across.cu): in bf16 lines that begin anywhere, by clusters of two blocks, and in fp32
 * lines of whole pieces, by blocks alone; outputs that are no whole strip, and none that lies behind C. */
#include "gemm/vector_across.cu"
#include "operand.h"

using namespace ridge;

/* The plan, without a choice. */
extern "C" gemm_vector_across gemm_vector_across_of(const gemm_problem *g) {
    const bool pieces = g->dtype == RIDGE_F32;
    gemm_vector_across v = {};
    v.of.column = true, v.of.outputs = g->m, v.of.k = g->k, v.of.w = g->a, v.of.x_step = 1;
    v.log_lanes = 2, v.cluster = pieces ? 1 : 2, v.strip = pieces ? 16 : 24;
    v.each = (g->k + v.cluster - 1) / v.cluster;
    v.blocks = (g->m + v.strip - 1) / v.strip * v.cluster;
    return v;
}

/* C = A B, of one column; columns of A are lines. */
template <typename T>
static long product_of(const char *name, int m, int k) {
    const operand<T> a((size_t)m * k, 0), b((size_t)k, 1000000);
    std::vector<T> c((size_t)m);
    const matrix_view of_a = {a.device, m, k, 1, m}, of_b = {b.device, k, 1, 1, 1};
    const matrix_view of_c = {device_array<T>(c.size(), NULL), m, 1, 1, 1};
    const gemm_call g(of_a, of_b, of_c, sizeof(T) == 4 ? RIDGE_F32 : RIDGE_BF16, false, 0);
    if (vector_across_of<T>(g) != RIDGE_OK) exit(2);
    to_host(c.data(), (const T *)of_c.base, c.size());
    comparison all = {name, 1e-5};
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int s = 0; s < k; s++) sum += (double)a[(size_t)(s * m + i)] * b[(size_t)s];
        const double found = on_host(c[(size_t)i]), unit = sizeof(T) == 4 ? 0 : fabs(sum) / 128;
        all.compare(fabs(found - sum) <= unit ? sum : found, sum, i, 0);
    }
    return all.wrong;
}

int main(void) { return product_of<__nv_bfloat16>("bf16", 37, 1003) + product_of<float>("fp32", 44, 60) > 0; }
