/* Loss of softmax regression on a GPU: see README.md, and kernels/cuda/linear/loss.cuh for the order of kernels.
 *
 * Floors: 2 batch depth classes FLOP over the tensor cores' rate; operands once over the copy bandwidth. The logits,
 * batch classes elements, stay in registers. 8192 x 4096 x 131072 bf16 on an H200: 8.8 TFLOP, 10.6 ms at the 830
 * TFLOP/s of its peak loop; 1.1 GB, 0.3 ms. */
#include "cuda/linear/loss_call.cuh"

#include "linear_cross_entropy.h"

LINEAR_LOSS_CUDA(linear_cross_entropy, CE_AT, linear_loss_forward)
