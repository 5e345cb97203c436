/* C = A B from slices of K (gemm/mma_tile.cuh): one stage and several of two_stage_pipeline, warps that are all alike and warps
 * of two and three roles of warp_specialization. Two tiles in m and n, six slices of K, a tail of each. */
#include "targets/two_stage_pipeline/cuda.cu"
#include "targets/warp_specialization/cuda.cu"
#include "product.h"

int main(void) {
    const product_case c(136, 264, 328);
    long wrong = c.wrong("one stage", two_stage_cuda_baseline);
    wrong += c.wrong("two stages", two_stage_cuda_optimized);
    wrong += c.wrong("four stages", two_stage_cuda_four);
    wrong += c.wrong("all warps alike", warp_specialization_cuda_alike);
    wrong += c.wrong("three roles", warp_specialization_cuda_three);
    wrong += c.wrong("two roles", warp_specialization_cuda_two);
    wrong += c.wrong("three roles, mma.sync", warp_specialization_cuda_three_mma);
    return wrong > 0;
}
