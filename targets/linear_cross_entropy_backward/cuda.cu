/* Gradients of softmax regression on a GPU, from saved row sums: see README.md, and kernels/cuda/linear/loss.cuh.
 *
 * Floor: three products, 6 batch depth classes FLOP, over the tensor cores' rate. The gradient of the logits exists for
 * LINEAR_GRADIENT_BYTES at a time. */
#include "cuda/linear/loss_call.cuh"

extern "C" {
#include "linear_cross_entropy_backward.h"
}

using namespace ridge;

extern "C" ridge_status linear_cross_entropy_backward_cuda_optimized(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_backward_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_gradient<T>(c); });
}

/* ---- the plain way, with ridge's own products and with a library's ---- */

extern "C" ridge_status linear_cross_entropy_backward_cuda_unfused(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_backward_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_own_unfused<T>(c); });
}

extern "C" ridge_status linear_cross_entropy_backward_cuda_baseline(const ridge_call *call) {
    const linear_loss_call c = linear_loss_call_of(call, linear_cross_entropy_backward_places);
    return with_products_of(call->dtype, [&]<typename T>() { return linear_loss_library_unfused<T>(c, call); });
}
