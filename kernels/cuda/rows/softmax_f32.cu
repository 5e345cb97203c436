/* Softmax of rows on f32 tensors: see rows/softmax_forms.cuh. */
#include "cuda/rows/softmax_forms.cuh"

namespace ridge {

ROW_SOFTMAX_OF(float)

}  // namespace ridge
