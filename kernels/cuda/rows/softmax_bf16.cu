/* Softmax of rows on bf16 tensors: see rows/softmax_forms.cuh. */
#include "cuda/rows/softmax_forms.cuh"

namespace ridge {

ROW_SOFTMAX_OF(__nv_bfloat16)

}  // namespace ridge
