/* Products of few rows with an f16 w: see gemv/call.cuh. */
#include "cuda/gemv/call.cuh"
#include "cuda/gemv/outer.cuh"
#include "cuda/gemv/tensor.cuh"

namespace ridge {

RIDGE_GEMV_OF(__half)

}  // namespace ridge
