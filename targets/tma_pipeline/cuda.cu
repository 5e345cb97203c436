/* C = A B by TMA and wgmma: see README.md. Both variants are gemm/matmul.cuh's kernel, which says how its roles meet;
 * they differ in the stages that TMA may fill ahead.
 *
 *   baseline    one: the tensor cores wait for memory, and memory for the tensor cores
 *   optimized   four; what comes next is loaded while a tile's sums leave, too */
#include "cuda/gemm/rung.cuh"

using namespace ridge;

namespace {
struct tma_pipeline;
}

static constexpr matmul_tuning ONE_STAGE = {.columns = 256, .stages = 1, .cluster_m = 1, .cluster_n = 1};
static constexpr matmul_tuning FOUR_STAGES = {.columns = 256, .stages = 4, .cluster_m = 1, .cluster_n = 1};

extern "C" ridge_status tma_pipeline_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(
        call, [](const matmul_call &m, auto type) { return matmul_rung<tma_pipeline, ONE_STAGE>(m, type); });
}
extern "C" ridge_status tma_pipeline_cuda_optimized(const ridge_call *call) {
    return with_matmul_16(
        call, [](const matmul_call &m, auto type) { return matmul_rung<tma_pipeline, FOUR_STAGES>(m, type); });
}
