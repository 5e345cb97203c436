/* The cross-entropy family's operations on f16 operands: see kernels/cuda/linear/loss_call.cuh. */
#include "linear/loss_unfused.cuh"

namespace ridge {

RIDGE_LINEAR_LOSS_OF(__half)

}  // namespace ridge
