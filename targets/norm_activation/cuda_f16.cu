/* norm_activation's kernels on f16 tensors: see norm_activation.cuh. */
#include "norm_activation.cuh"

namespace ridge {

NORM_ACTIVATION_OF(__half)

}  // namespace ridge
