/* From a call to a launch: the dispatch over storage types, the launch itself, and CUDA's answers as statuses. */
#ifndef RIDGE_KERNELS_CUDA_LAUNCH_CUH
#define RIDGE_KERNELS_CUDA_LAUNCH_CUH

#include "cuda/pack.cuh"
#include "cuda/per_device.cuh"

extern "C" {
#include "ridge/target.h"
}

namespace ridge {

inline cudaStream_t stream_of(const ridge_call *call) { return (cudaStream_t)call->stream; }

/* Errors that no call brings about at once: a kernel that ran before left them. */
inline bool is_of_earlier_launch(cudaError_t e) {
    constexpr cudaError_t of_kernels[] = {
        cudaErrorIllegalAddress,   cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
        cudaErrorInvalidPc,        cudaErrorInvalidAddressSpace, cudaErrorHardwareStackError,
        cudaErrorLaunchFailure,    cudaErrorLaunchTimeout,       cudaErrorAssert,
        cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorContextIsDestroyed,
    };
    for (const cudaError_t known : of_kernels)
        if (e == known) return true;
    return false;
}

/* CUDA's answer as a status; its words go to ridge_why. A refusal is taken off the runtime's record, where the program
 * would find it and blame a launch of its own. Of a program's earlier refusals nothing is asked. */
inline ridge_status cuda_status(cudaError_t answer, const char *call) {
    if (answer == cudaSuccess) return RIDGE_OK;
    (void)cudaGetLastError();
    ridge_note_why("%s%s: %s (%s)", is_of_earlier_launch(answer) ? "an earlier launch failed: " : "", call,
                   cudaGetErrorString(answer), cudaGetErrorName(answer));
    return answer == cudaErrorMemoryAllocation ? RIDGE_NO_MEMORY : RIDGE_FAILED;
}

/* RIDGE_OK where the launch was accepted; what fails while it runs is found when the stream is waited for. */
template <typename... P, typename... A>
ridge_status launch_with(const cudaLaunchConfig_t &config, void (*kernel)(P...), const A &...a) {
    return cuda_status(cudaLaunchKernelEx(&config, kernel, P(a)...), "cudaLaunchKernelEx");
}

/* Blocks, threads of each, bytes of shared memory beside what the kernel declares, blocks of a cluster along x. */
struct launch_shape {
    dim3 grid;
    int threads, bytes = 0, cluster = 1;
};
inline cudaLaunchConfig_t config_of(const launch_shape &shape, cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = dim3((unsigned)shape.threads);
    config.dynamicSmemBytes = (size_t)shape.bytes;
    config.stream = stream;
    return config;
}
/* Without clusters. */
template <typename... P, typename... A>
ridge_status launch(void (*kernel)(P...), const launch_shape &shape, cudaStream_t stream, const A &...a) {
    return launch_with(config_of(shape, stream), kernel, a...);
}

/* Zeroes in the stream. */
inline ridge_status clear_memory(void *memory, size_t bytes, cudaStream_t stream) {
    return cuda_status(cudaMemsetAsync(memory, 0, bytes, stream), "cudaMemsetAsync");
}

/* Of the current device; 0 where it cannot be asked. */
inline int device_limit(cudaDeviceAttr of) {
    int device = 0, limit = 0;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&limit, of, device) == cudaSuccess ? limit
                                                                                                              : 0;
}
/* Times ten: 90 is Hopper. */
inline int device_capability(void) {
    return 10 * device_limit(cudaDevAttrComputeCapabilityMajor) + device_limit(cudaDevAttrComputeCapabilityMinor);
}

/* Calls f.template operator()<T>() with T the call's storage type. */
template <typename F>
ridge_status with_storage(ridge_dtype dtype, F f) {
    switch (dtype) {
        case RIDGE_F32: return f.template operator()<float>();
        case RIDGE_BF16: return f.template operator()<__nv_bfloat16>();
        case RIDGE_F16: return f.template operator()<__half>();
        default: return RIDGE_UNSUPPORTED;
    }
}

}  // namespace ridge

#endif
