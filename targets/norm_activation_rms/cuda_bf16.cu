/* norm_activation_rms's kernels on bf16 tensors: see norm_activation_rms.cuh. */
#include "norm_activation_rms.cuh"

namespace ridge {

NORM_ACTIVATION_RMS_OF(__nv_bfloat16)

}  // namespace ridge
