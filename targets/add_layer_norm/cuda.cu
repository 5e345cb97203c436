/* add_layer_norm on a GPU: see rows/norm.cuh. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(add_layer_norm, ROW_NORM_LAYER, true, 0, ACTIVATION_NONE)
