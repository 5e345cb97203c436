/* From a call to a launch: the dispatch over storage types, and CUDA's verdict on a launch as a status. */
#ifndef RIDGE_KERNELS_CUDA_LAUNCH_CUH
#define RIDGE_KERNELS_CUDA_LAUNCH_CUH

#include "cuda/pack.cuh"

extern "C" {
#include "ridge/target.h"
}

namespace ridge {

inline cudaStream_t stream_of(const ridge_call *call) { return (cudaStream_t)call->stream; }

/* Of the launches since the last look: all accepted? A refused one (too much shared memory, an empty grid) says so
 * here; what fails while it runs is found when the stream is waited for. */
inline ridge_status launched(void) { return cudaGetLastError() == cudaSuccess ? RIDGE_OK : RIDGE_FAILED; }

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
