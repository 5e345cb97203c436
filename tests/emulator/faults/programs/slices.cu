/* C = A B from slices of K by mma.sync (gemm/mma_tile.cuh): one and two stages of two_stage_pipeline, warps that are all
 * alike and warps of two roles of warp_specialization. Two tiles in m and n, ten slices of K, a tail of each. */
#include "targets/two_stage_pipeline/cuda.cu"
#include "targets/warp_specialization/cuda.cu"
#include "product.h"

int main(void) {
    const product_case c(136, 152, 296);
    long wrong = c.wrong("one stage", two_stage_cuda_baseline);
    wrong += c.wrong("two stages", two_stage_cuda_optimized);
    wrong += c.wrong("all warps alike", warp_specialization_cuda_baseline);
    wrong += c.wrong("warps of two roles", warp_specialization_cuda_optimized);
    return wrong > 0;
}
