/* The cross-entropy family's operations on f32 operands: see kernels/cuda/linear/loss_call.cuh. */
#include "linear/loss_unfused.cuh"

namespace ridge {

RIDGE_LINEAR_LOSS_OF(float)

}  // namespace ridge
