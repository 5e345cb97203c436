/* Norms of rows on f32 tensors: see rows/norm.cuh. */
#include "cuda/rows/norm.cuh"

namespace ridge {

ROW_NORM_OF(float)

}  // namespace ridge
