/* norm_activation_rms on a GPU: see rows/norm_fixed.cuh; the baseline is rows/norm.cuh's. */
#include "cuda/rows/norm_call.cuh"

ROW_NORM_CUDA(norm_activation_rms, ROW_NORM_RMS, false, NORM_EPS, ACTIVATION_SILU)
