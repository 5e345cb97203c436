/* C = A B by TMA and tcgen05: see README.md. Baseline: a block a tile, a ring of stages. Optimized: persistent blocks, or pairs of
 * them, with the sums of two tiles. */
#include "cuda/gemm/tensor_matmul_run.cuh"
#include "cuda/gemm/tensor_ring.cuh"

using namespace ridge;

extern "C" ridge_status tcgen05_tma_pipeline_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) { return tensor_ring_run<4>(m, type); });
}
extern "C" ridge_status tcgen05_tma_pipeline_cuda_blocks(const ridge_call *call) {
    return with_matmul_16(call,
                          [](const matmul_call &m, auto type) { return tensor_matmul_rows<TENSOR_BLOCKS>(m, type); });
}
extern "C" ridge_status tcgen05_tma_pipeline_cuda_pairs(const ridge_call *call) {
    return with_matmul_16(call,
                          [](const matmul_call &m, auto type) { return tensor_matmul_rows<TENSOR_PAIRS>(m, type); });
}
