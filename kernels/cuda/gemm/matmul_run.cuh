/* From operands in memory to a launch of matmul_kernel: tensor maps, grid, cluster. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_MATMUL_RUN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_MATMUL_RUN_CUH

#include "cuda/gemm/matmul.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/tensor_map.cuh"

namespace ridge {

/* Blocks of the current device that run at once, in whole clusters; 0: it has no room for one. Static, as what follows: each file has
 * a handle of its own of a kernel that is a template. */
template <class S, class Epilogue>
static int matmul_room(void) {
    const void *const kernel = (const void *)matmul_kernel<S, Epilogue>;
    constexpr int bytes = matmul_shared_bytes<S, Epilogue>;
    int clusters = 0;
    cudaError_t answer = allow_shared(kernel, bytes);
    if (answer == cudaSuccess && S::cluster > 8) answer = allow_large_clusters(kernel);
    if (answer == cudaSuccess && S::cluster == 1) { /* the runtime counts blocks of an SM, not clusters of one */
        answer = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&clusters, kernel, S::threads, bytes);
        clusters *= device_limit(cudaDevAttrMultiProcessorCount);
    } else if (answer == cudaSuccess) {
        answer = resident_clusters(&clusters, kernel, {dim3(S::cluster), S::threads, bytes, S::cluster});
    }
    return cuda_status(answer, "a cluster of a product") == RIDGE_OK ? clusters * S::cluster : 0;
}

/* The same, asked once for each device. */
template <class S, class Epilogue>
static int matmul_resident(void) {
    static per_device<int> resident;
    return resident.get(matmul_room<S, Epilogue>, [](int blocks) { return blocks > 0; });
}

/* The launch of operands that have their maps. Blocks that wait for each other are launched together or not at all,
 * whatever else runs on the device. */
template <class S, class Epilogue>
static ridge_status matmul_run_maps(const CUtensorMap &a_map, const CUtensorMap &b_map, int64_t m, int64_t n,
                                    matmul_plan plan, const Epilogue &epilogue, cudaStream_t stream, int shares) {
    const int resident = matmul_resident<S, Epilogue>();
    if (resident == 0) return RIDGE_UNSUPPORTED;
    plan.m_tiles = (int)((m + S::M - 1) / S::M);
    plan.n_tiles = (int)((n + S::columns - 1) / S::columns);
    if (shares > 1) {
        plan.across = (plan.n_tiles + S::CN - 1) / S::CN * S::CN;
        plan.n_tiles = plan.across * shares;
    }
    const int64_t clusters = (int64_t)((plan.m_tiles + S::CM - 1) / S::CM) * ((plan.n_tiles + S::CN - 1) / S::CN) *
                             (S::batched ? plan.batch : 1);
    if (clusters > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    const bool together = plan.progress || epilogue.waits();
    const int64_t blocks = clusters * S::cluster < resident ? clusters * S::cluster : resident;
    const launch_shape shape = {dim3((unsigned)blocks), S::threads, matmul_shared_bytes<S, Epilogue>, S::cluster};
    return launch_as(LAUNCH_OVERLAP | (together ? LAUNCH_TOGETHER : 0), matmul_kernel<S, Epilogue>, shape, stream,
                     a_map, b_map, plan, epilogue);
}

/* shares: of K, each of plan.slices; for epilogues that keep their sums apart.
 *
 * C = A B with A: [m, k], B: [k, n]; lines run along K where the shape says so, else along M or N. */
template <class S, class Epilogue>
ridge_status matmul_run(const matrix_lines &a, const matrix_lines &b, int64_t m, int64_t n, const matmul_plan &plan,
                        const Epilogue &epilogue, cudaStream_t stream, int shares = 1) {
    CUtensorMap a_map, b_map;
    using A = typename S::A;
    if (!make_map<A>(&a_map, a, S::a_box, map_type<A>, S::a_line) || !make_map<typename S::T>(&b_map, b, S::b_box))
        return RIDGE_FAILED;
    return matmul_run_maps<S>(a_map, b_map, m, n, plan, epilogue, stream, shares);
}

/* One product over the whole of K. */
inline matmul_plan matmul_whole(int64_t k, int slice, int band, bool keep_a = false, bool keep_b = false) {
    matmul_plan plan = {};
    plan.slices = (int)((k + slice - 1) / slice);
    plan.run = 1;
    plan.band = band;
    plan.keep_a = keep_a;
    plan.keep_b = keep_b;
    return plan;
}

}  // namespace ridge

#endif
