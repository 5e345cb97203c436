/* Forms of softmax of rows as targets call them; each storage type is compiled once: rows/softmax_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_FORMS_CALL_CUH
#define RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_FORMS_CALL_CUH

#include "cuda/host/launch.cuh"

namespace ridge {

template <typename T>
ridge_status row_softmax_optimized(const ridge_call *call, bool masked);
template <typename T>
ridge_status row_softmax_baseline(const ridge_call *call, bool masked);

}  // namespace ridge

/* Both variants of a target. */
#define ROW_SOFTMAX_CUDA(name, masked)                                                                           \
    extern "C" ridge_status name##_cuda_optimized(const ridge_call *call) {                                      \
        return ridge::with_storage(call->dtype,                                                                  \
                                   [&]<typename T>() { return ridge::row_softmax_optimized<T>(call, masked); }); \
    }                                                                                                            \
    extern "C" ridge_status name##_cuda_baseline(const ridge_call *call) {                                       \
        return ridge::with_storage(call->dtype,                                                                  \
                                   [&]<typename T>() { return ridge::row_softmax_baseline<T>(call, masked); });  \
    }

#endif
