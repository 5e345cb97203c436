/* A matrix times a vector (gemm/vector.cu): in bf16 lines that begin anywhere, of groups of two warps, and in fp32 lines of whole packs,
 * of groups of eight lanes; outputs that are no whole group, and none that lies behind C. */
#include "gemm/vector.cu"
#include "operand.h"

using namespace ridge;

/* The plan, without a choice. */
extern "C" gemm_vector gemm_vector_of(const gemm_problem *g) {
    const bool packs = g->dtype == RIDGE_F32;
    gemm_vector v = {};
    v.of.column = true, v.of.outputs = g->m, v.of.k = g->k, v.of.w = g->a, v.of.x_step = 1;
    v.loads = packs ? GEMM_VECTOR_PACKS : GEMM_VECTOR_SHIFTED;
    v.log_apart = packs ? 0 : 3, v.lanes = packs ? GEMM_VECTOR_LANES : 32, v.log_warps = packs ? 0 : 1;
    const int64_t group = GEMM_VECTOR_LINES << v.log_apart, groups = (v.of.outputs + group - 1) / group << v.log_apart;
    const int64_t of_block = packs ? GEMM_VECTOR_WARPS * 32 / v.lanes : GEMM_VECTOR_WARPS / 2;
    v.blocks = (groups + of_block - 1) / of_block;
    return v;
}

/* C = A B, of one column. */
template <typename T>
static long product_of(const char *name, int m, int k) {
    const operand<T> a((size_t)m * k, 0), b((size_t)k, 1000000);
    std::vector<T> c((size_t)m);
    const matrix_view of_a = {a.device, m, k, k, 1}, of_b = {b.device, k, 1, 1, 1};
    const matrix_view of_c = {device_array<T>(c.size(), NULL), m, 1, 1, 1};
    const gemm_call g(of_a, of_b, of_c, sizeof(T) == 4 ? RIDGE_F32 : RIDGE_BF16, false, 0);
    if (vector_of<T>(g) != RIDGE_OK) exit(2);
    to_host(c.data(), (const T *)of_c.base, c.size());
    comparison all = {name, 1e-5};
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int s = 0; s < k; s++) sum += (double)a[(size_t)(i * k + s)] * b[(size_t)s];
        const double found = on_host(c[(size_t)i]), unit = sizeof(T) == 4 ? 0 : fabs(sum) / 128;
        all.compare(fabs(found - sum) <= unit ? sum : found, sum, i, 0);
    }
    return all.wrong;
}

int main(void) { return product_of<__nv_bfloat16>("bf16", 37, 1003) + product_of<float>("fp32", 45, 60) > 0; }
