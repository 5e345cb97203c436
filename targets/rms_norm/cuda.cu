/* rms_norm on a GPU: see rows/norm.cuh. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(rms_norm, ROW_NORM_RMS, false, 0, ACTIVATION_NONE)
