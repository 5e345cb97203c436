/* Loss and gradients of softmax regression on a GPU in one call: see README.md, and kernels/cuda/linear/loss.cuh.
 *
 * Floor: three products, as the backward alone has: the logits are computed once. 8192 x 4096 x 131072 bf16 on an H200:
 * 26.4 TFLOP, 31.8 ms at the 830 TFLOP/s of its peak loop, and one pass over the gradient, 4.3 GB, 1.0 ms. */
#include "cuda/linear/loss_call.cuh"

#include "linear_cross_entropy_grad.h"

LINEAR_LOSS_CUDA(linear_cross_entropy_grad, CE_AT, linear_loss_gradient)
