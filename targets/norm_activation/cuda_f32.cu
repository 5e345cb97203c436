/* norm_activation's kernels on f32 tensors: see norm_activation.cuh. */
#include "norm_activation.cuh"

namespace ridge {

NORM_ACTIVATION_OF(float)

}  // namespace ridge
