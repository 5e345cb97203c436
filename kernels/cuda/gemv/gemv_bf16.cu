/* Products of few rows with an bf16 w: see gemv/call.cuh. */
#include "cuda/gemv/call.cuh"
#include "cuda/gemv/outer.cuh"
#include "cuda/gemv/tensor.cuh"

namespace ridge {

RIDGE_GEMV_OF(__nv_bfloat16)

}  // namespace ridge
