/* layer_norm on a GPU: see rows/norm.cuh. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(layer_norm, ROW_NORM_LAYER, false, 0, ACTIVATION_NONE)
