/* norm_activation on a GPU: hands a call to the kernels of its storage type, each compiled in a file of its own. */
#include "cuda/host/launch.cuh"

namespace ridge {

template <typename T>
ridge_status norm_activation_optimized(const ridge_call *call);
template <typename T>
ridge_status norm_activation_baseline(const ridge_call *call);

}  // namespace ridge

extern "C" ridge_status norm_activation_cuda_optimized(const ridge_call *call) {
    return ridge::with_storage(call->dtype, [&]<typename T>() { return ridge::norm_activation_optimized<T>(call); });
}

extern "C" ridge_status norm_activation_cuda_baseline(const ridge_call *call) {
    return ridge::with_storage(call->dtype, [&]<typename T>() { return ridge::norm_activation_baseline<T>(call); });
}
