/* Norms of rows on bf16 tensors: see rows/norm.cuh. */
#include "cuda/rows/norm.cuh"

namespace ridge {

ROW_NORM_OF(__nv_bfloat16)

}  // namespace ridge
