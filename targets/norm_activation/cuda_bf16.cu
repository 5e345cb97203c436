/* norm_activation's kernels on bf16 tensors: see norm_activation.cuh. */
#include "norm_activation.cuh"

namespace ridge {

NORM_ACTIVATION_OF(__nv_bfloat16)

}  // namespace ridge
