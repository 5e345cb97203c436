/* Gradients of softmax regression on a GPU, from saved row sums: see README.md, and kernels/cuda/linear/loss.cuh.
 *
 * Floor: three products, 6 batch depth classes FLOP, over the tensor cores' rate. The gradient of the logits exists for
 * LINEAR_GRADIENT_BYTES at a time. */
#include "cuda/linear/loss_call.cuh"

#include "linear_cross_entropy_backward.h"

LINEAR_LOSS_CUDA(linear_cross_entropy_backward, CE_AT, linear_loss_gradient)
