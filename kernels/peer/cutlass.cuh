/* What files that instantiate CUTLASS's kernels share; after its headers. */
#ifndef RIDGE_KERNELS_PEER_CUTLASS_CUH
#define RIDGE_KERNELS_PEER_CUTLASS_CUH

#include <cutlass/bfloat16.h>
#include <cutlass/half.h>

#include "cuda/host/launch.cuh"

namespace ridge {

/* CUTLASS's name of a storage type. */
template <typename T>
struct cutlass_element;
template <>
struct cutlass_element<__nv_bfloat16> {
    using type = cutlass::bfloat16_t;
};
template <>
struct cutlass_element<__half> {
    using type = cutlass::half_t;
};

/* A launch of a product that needs no workspace. */
template <typename Gemm>
ridge_status cutlass_launch(typename Gemm::Arguments arguments, cudaStream_t stream) {
    arguments.hw_info.sm_count = device_limit(cudaDevAttrMultiProcessorCount);
    Gemm gemm;
    if (Gemm::get_workspace_size(arguments) > 0 || Gemm::can_implement(arguments) != cutlass::Status::kSuccess)
        return RIDGE_UNSUPPORTED;
    return gemm.run(arguments, nullptr, stream) == cutlass::Status::kSuccess ? RIDGE_OK : RIDGE_FAILED;
}

}  // namespace ridge

#endif
