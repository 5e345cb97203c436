/* Loss of softmax regression on a GPU: see README.md, and kernels/cuda/linear/loss.cuh for the order of kernels.
 *
 * Floors: 2 batch depth classes FLOP over the tensor cores' rate; operands once over the copy bandwidth. The logits,
 * batch classes elements, stay in registers. 8192 x 4096 x 131072 bf16 on an H200: 8.8 TFLOP, 10.6 ms at the 830
 * TFLOP/s of its peak loop; 1.1 GB, 0.3 ms. */
#include "cuda/linear/loss_call.cuh"

extern "C" {
#include "linear_cross_entropy.h"
}

using namespace ridge;

extern "C" ridge_status linear_cross_entropy_cuda_optimized(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_forward<T>(c); });
}

/* ---- the plain way, with ridge's own products and with a library's ---- */

extern "C" ridge_status linear_cross_entropy_cuda_unfused(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_own_unfused<T>(c); });
}

extern "C" ridge_status linear_cross_entropy_cuda_baseline(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_library_unfused<T>(c, call); });
}
