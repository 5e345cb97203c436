/* Loss and gradients of softmax regression on a GPU in one call: see README.md, and kernels/cuda/linear/loss.cuh.
 *
 * Floor: three products, as the backward alone has: the logits are computed once. 8192 x 4096 x 131072 bf16 on an H200:
 * 26.4 TFLOP, 31.8 ms at the 830 TFLOP/s of its peak loop, and one pass over the gradient, 4.3 GB, 1.0 ms. */
#include "cuda/linear/loss_call.cuh"

extern "C" {
#include "linear_cross_entropy_grad.h"
}

using namespace ridge;

extern "C" ridge_status linear_cross_entropy_grad_cuda_optimized(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_grad_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_gradient<T>(c); });
}

/* ---- the plain way, with ridge's own products and with a library's ---- */

extern "C" ridge_status linear_cross_entropy_grad_cuda_unfused(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_grad_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_own_unfused<T>(c); });
}

extern "C" ridge_status linear_cross_entropy_grad_cuda_baseline(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_grad_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_library_unfused<T>(c, call); });
}
