/* C = A B by TMA and wgmma, blocks in clusters: see README.md. All are gemm/matmul.cuh's kernel; they differ in the
 * blocks that share operands. Of CM x CN neighbouring tiles, a block loads a part of A's tile for the CN blocks of its
 * row and a part of B's for the CM blocks of its column, by one multicast each: so every byte comes from L2 once a
 * cluster. */
#include "cuda/gemm/rung.cuh"

using namespace ridge;

namespace {
struct cluster_multicast;
}

static constexpr matmul_tuning clusters_of(int m, int n) {
    return {.columns = 256, .stages = 4, .cluster_m = m, .cluster_n = n};
}

#define CLUSTERS(name, m, n)                                                        \
    extern "C" ridge_status cluster_multicast_cuda_##name(const ridge_call *call) { \
        return with_matmul_16(call, [](const matmul_call &c, auto type) {           \
            return matmul_rung<cluster_multicast, clusters_of(m, n)>(c, type);      \
        });                                                                         \
    }
CLUSTERS(alone, 1, 1)
CLUSTERS(of_2, 2, 1)
CLUSTERS(of_4, 2, 2)
CLUSTERS(of_8, 4, 2)
CLUSTERS(of_16, 4, 4)
