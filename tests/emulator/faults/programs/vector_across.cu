/* A matrix times a vector across K (gemm/vector_across.cu): in bf16 lines that begin anywhere, by clusters of two blocks, and in fp32
 * lines of whole pieces, by blocks alone; outputs that are no whole strip, and none that lies behind C. */
#include "gemm/vector_across.cu"
#include "vector_product.h"

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

/* Columns of A are lines. */
template <typename T>
static long product_of(const char *name, int m, int k) {
    return vector_product_of<T>(name, m, k, 1, m, [](const gemm_call &g) { return vector_across_of<T>(g); });
}

int main(void) { return product_of<__nv_bfloat16>("bf16", 37, 1003) + product_of<float>("fp32", 44, 60) > 0; }
