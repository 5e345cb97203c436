/* Norms of rows as targets call them; each storage type is compiled once: rows/norm_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_CALL_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_CALL_CUH

#include "cuda/host/launch.cuh"

extern "C" {
#include "model/row_norm.h"
}

namespace ridge {

template <typename T>
ridge_status row_norm_optimized(const ridge_call *call, row_norm_form form);
template <typename T>
ridge_status row_norm_baseline(const ridge_call *call, row_norm_form form);

}  // namespace ridge

/* The variants of a target, of a row_norm_form. */
#define ROW_NORM_CUDA_OPTIMIZED(name, ...)                                         \
    extern "C" ridge_status name##_cuda_optimized(const ridge_call *call) {        \
        return ridge::with_storage(call->dtype, [&]<typename T>() {                \
            return ridge::row_norm_optimized<T>(call, row_norm_form{__VA_ARGS__}); \
        });                                                                        \
    }
#define ROW_NORM_CUDA(name, ...)                                                                                       \
    ROW_NORM_CUDA_OPTIMIZED(name, __VA_ARGS__)                                                                         \
    extern "C" ridge_status name##_cuda_baseline(const ridge_call *call) {                                             \
        return ridge::with_storage(                                                                                    \
            call->dtype, [&]<typename T>() { return ridge::row_norm_baseline<T>(call, row_norm_form{__VA_ARGS__}); }); \
    }

#endif
