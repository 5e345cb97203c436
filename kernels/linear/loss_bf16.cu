/* The cross-entropy family's operations on bf16 operands: see kernels/cuda/linear/loss_call.cuh. */
#include "linear/loss_unfused.cuh"

namespace ridge {

RIDGE_LINEAR_LOSS_OF(__nv_bfloat16)

}  // namespace ridge
