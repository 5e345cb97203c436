/* A matrix times a vector (gemm/vector.cu): in bf16 lines that begin anywhere, of groups of two warps, and in fp32 lines of whole packs,
 * of groups of eight lanes; outputs that are no whole group, and none that lies behind C. */
#include "gemm/vector.cu"
#include "vector_product.h"

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

/* Lines of A run along K. */
template <typename T>
static long product_of(const char *name, int m, int k) {
    return vector_product_of<T>(name, m, k, k, 1, [](const gemm_call &g) { return vector_of<T>(g); });
}

int main(void) { return product_of<__nv_bfloat16>("bf16", 37, 1003) + product_of<float>("fp32", 45, 60) > 0; }
