/* Operations of linear layers with few rows: linear/few_rows.cu. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_FEW_ROWS_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_FEW_ROWS_CUH

#include "cuda/linear/loss_call.cuh"
#include "cuda/linear/softmax_call.cuh"

namespace ridge {

template <typename T>
ridge_status linear_few_rows_losses(const linear_loss_call &c);
/* given_lse: backward; else forward and backward. */
template <typename T>
ridge_status linear_few_rows_gradients(const linear_loss_call &c);

}  // namespace ridge

#endif
