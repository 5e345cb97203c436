/* Softmax of rows on f16 tensors: see rows/softmax_forms.cuh. */
#include "cuda/rows/softmax_forms.cuh"

namespace ridge {

ROW_SOFTMAX_OF(__half)

}  // namespace ridge
