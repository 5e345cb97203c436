/* Products of few rows with an f32 w: see gemv/call.cuh. */
#include "cuda/gemv/call.cuh"
#include "cuda/gemv/outer.cuh"
#include "cuda/gemv/tensor.cuh"

namespace ridge {

RIDGE_GEMV_OF(float)

}  // namespace ridge
