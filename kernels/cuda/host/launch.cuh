/* From a call to a launch: storage types, the one launcher, limits of the device, CUDA's answers as statuses. */
#ifndef RIDGE_KERNELS_CUDA_HOST_LAUNCH_CUH
#define RIDGE_KERNELS_CUDA_HOST_LAUNCH_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cuda/host/grants.cuh"
#include "cuda/host/per_device.cuh"

extern "C" {
#include "ridge/target.h"
}

namespace ridge {

inline cudaStream_t stream_of(const ridge_call *call) { return (cudaStream_t)call->stream; }

/* Errors that no call causes at once: an earlier kernel left them. */
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

/* CUDA's answer as a status; its words go to ridge_why. A refusal is removed from the runtime's record, where the
 * program would find it and blame a launch of its own. Earlier refusals of the program are not looked at. */
inline ridge_status cuda_status(cudaError_t answer, const char *call) {
    if (answer == cudaSuccess) return RIDGE_OK;
    (void)cudaGetLastError();
    ridge_note_why("%s%s: %s (%s)", is_of_earlier_launch(answer) ? "an earlier launch failed: " : "", call,
                   cudaGetErrorString(answer), cudaGetErrorName(answer));
    return answer == cudaErrorMemoryAllocation ? RIDGE_NO_MEMORY : RIDGE_FAILED;
}

/* An attribute of the current device; 0 where it cannot be had. */
inline int device_limit(cudaDeviceAttr of) {
    int device = 0, limit = 0;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&limit, of, device) == cudaSuccess ? limit
                                                                                                              : 0;
}
/* Compute capability times ten: 90 is Hopper. */
inline int device_capability(void) {
    return 10 * device_limit(cudaDevAttrComputeCapabilityMajor) + device_limit(cudaDevAttrComputeCapabilityMinor);
}

/* Whether the current device has wgmma, and whether its launches can overlap. */
inline bool device_is_hopper(void) { return device_capability() / 10 == 9; }
inline bool device_overlaps(void) { return device_capability() >= 90; }

/* ---- launches ---- */

/* Blocks, threads of each, bytes of dynamic shared memory, blocks of a cluster along x. */
struct launch_shape {
    dim3 grid;
    int threads, bytes = 0, cluster = 1;
};
/* Overlap: the launch is set up while the one before it in the stream still runs; its kernel begins with
 * after_previous_launch() or before_next_launch(). Together: all blocks run at the same time, or the launch is refused.
 */
enum launch_how { LAUNCH_PLAIN = 0, LAUNCH_OVERLAP = 1, LAUNCH_TOGETHER = 2 };

/* What the runtime takes. It points to its own attributes: not to be copied. */
class launch_config {
    cudaLaunchAttribute attributes[3] = {};

    cudaLaunchAttributeValue *add(cudaLaunchAttributeID id) {
        attributes[config.numAttrs].id = id;
        return &attributes[config.numAttrs++].val;
    }

   public:
    cudaLaunchConfig_t config = {};

    launch_config(const launch_shape &shape, cudaStream_t stream, int how) {
        config.gridDim = shape.grid;
        config.blockDim = dim3((unsigned)shape.threads);
        config.dynamicSmemBytes = (size_t)shape.bytes;
        config.stream = stream;
        config.attrs = attributes;
        if (shape.cluster > 1) add(cudaLaunchAttributeClusterDimension)->clusterDim = {(unsigned)shape.cluster, 1, 1};
        if (how & LAUNCH_OVERLAP)
            add(cudaLaunchAttributeProgrammaticStreamSerialization)->programmaticStreamSerializationAllowed = 1;
        if (how & LAUNCH_TOGETHER) add(cudaLaunchAttributeCooperative)->cooperative = 1;
    }
    launch_config(const launch_config &) = delete;
    launch_config &operator=(const launch_config &) = delete;
};

/* What has a share of its memory declared needs a grant below 48 KiB, too. */
inline cudaError_t ask_for(const void *kernel, const launch_shape &shape) {
    if (shape.bytes > 24 * 1024)
        if (const cudaError_t e = allow_shared(kernel, shape.bytes); e != cudaSuccess) return e;
    return shape.cluster > 8 ? allow_large_clusters(kernel) : cudaSuccess;
}

/* The one launcher. RIDGE_OK where the launch was accepted; failures while it runs are found when the stream is waited
 * for. */
template <typename... P, typename... A>
ridge_status launch_as(int how, void (*kernel)(P...), const launch_shape &shape, cudaStream_t stream, const A &...a) {
    RIDGE_TRY(cuda_status(ask_for((const void *)kernel, shape), "cudaFuncSetAttribute"));
    const launch_config with(shape, stream, how);
    return cuda_status(cudaLaunchKernelEx(&with.config, kernel, P(a)...), "cudaLaunchKernelEx");
}
template <typename... P, typename... A>
ridge_status launch(void (*kernel)(P...), const launch_shape &shape, cudaStream_t stream, const A &...a) {
    return launch_as(LAUNCH_PLAIN, kernel, shape, stream, a...);
}
/* allowed: whether the device can; else as any other launch. */
template <typename... P, typename... A>
ridge_status launch_overlapping(void (*kernel)(P...), const launch_shape &shape, cudaStream_t stream, bool allowed,
                                const A &...a) {
    return launch_as(allowed ? LAUNCH_OVERLAP : LAUNCH_PLAIN, kernel, shape, stream, a...);
}

/* Zeroes memory in the stream. */
inline ridge_status clear_memory(void *memory, size_t bytes, cudaStream_t stream) {
    return cuda_status(cudaMemsetAsync(memory, 0, bytes, stream), "cudaMemsetAsync");
}

/* ---- what a kernel may have on the current device ---- */

/* Clusters of a kernel that run at the same time; 0: none, or the device cannot say. Attributes have been asked for. */
inline cudaError_t resident_clusters(int *clusters, const void *kernel, const launch_shape &shape) {
    const launch_config with(shape, 0, LAUNCH_PLAIN);
    const cudaError_t answer = cudaOccupancyMaxActiveClusters(clusters, kernel, &with.config);
    if (answer != cudaSuccess) *clusters = 0;
    return answer;
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
