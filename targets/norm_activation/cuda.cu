/* norm_activation on a GPU: see rows/norm_fixed.cuh; the baseline is rows/norm.cuh's. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(norm_activation, ROW_NORM_LAYER, false, NORM_EPS, ACTIVATION_GELU)
