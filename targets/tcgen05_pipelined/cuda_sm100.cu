/* C = A B by tcgen05, a tile of 128 x 128 a block: see README.md. The variants differ in how many slices are on their way. */
#include "cuda/gemm/tensor_ring.cuh"

using namespace ridge;

extern "C" ridge_status tcgen05_pipelined_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) { return tensor_tile_run(m, type); });
}
extern "C" ridge_status tcgen05_pipelined_cuda_optimized(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) { return tensor_ring_run<4>(m, type); });
}
