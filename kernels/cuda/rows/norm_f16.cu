/* Norms of rows on f16 tensors: see rows/norm.cuh. */
#include "cuda/rows/norm.cuh"

namespace ridge {

ROW_NORM_OF(__half)

}  // namespace ridge
