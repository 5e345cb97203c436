/* C = A B by TMA and wgmma from gemm/rung.cuh: the one stage of tma_pipeline, and the clusters of 2 x 2 blocks of
 * cluster_multicast, whose ring of four stages turns. Three tiles in m, two in n, six slices of K, a tail of each: one
 * block of each column of clusters has a tile beyond the last row. */
#include "cuda/gemm/rung.cuh"
#include "product.h"

using namespace ridge;

struct tma_pipeline;
struct cluster_multicast;
constexpr matmul_tuning one_stage = {.columns = 256, .stages = 1, .cluster_m = 1, .cluster_n = 1};
constexpr matmul_tuning clusters_of_4 = {.columns = 256, .stages = 4, .cluster_m = 2, .cluster_n = 2};

int main(void) {
    const product_case c(300, 264, 328);
    long wrong = c.wrong("one stage", [](const ridge_call *call) {
        return matmul_rung<tma_pipeline, one_stage>(matmul_call(call), __nv_bfloat16());
    });
    wrong += c.wrong("clusters of 4", [](const ridge_call *call) {
        return matmul_rung<cluster_multicast, clusters_of_4>(matmul_call(call), __nv_bfloat16());
    });
    return wrong > 0;
}
