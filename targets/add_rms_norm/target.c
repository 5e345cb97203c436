/* sum = x + residual, y = activation(RMS norm of sum)
 * See README.md. */
#define ROW_NORM_NAME add_rms_norm
#define ROW_NORM_KIND ROW_NORM_RMS
#define ROW_NORM_RESIDUAL 1
#define ROW_NORM_WEIGHTS 1
#define ROW_NORM_SUMMARY "sum of two matrices, and its RMS norm, with an activation"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x"), ROW_NORM_MATRIX("residual"), ROW_NORM_WEIGHT("gamma")
#include "rows/row_norm_target.h"
