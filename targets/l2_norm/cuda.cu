/* l2_norm on a GPU: see rows/norm.cuh. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(l2_norm, ROW_NORM_L2, false, 0, ACTIVATION_NONE)
