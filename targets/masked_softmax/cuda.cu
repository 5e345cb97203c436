/* masked_softmax on a GPU: see rows/softmax_forms.cuh. */
#include "cuda/rows/softmax_forms_call.cuh"

ROW_SOFTMAX_CUDA(masked_softmax, true)
