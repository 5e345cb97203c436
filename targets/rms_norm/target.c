/* y = activation(x / sqrt(mean(x^2) + eps) gamma)     x, y: [rows, cols], gamma: [cols]
 * See README.md. */
#define ROW_NORM_NAME rms_norm
#define ROW_NORM_KIND ROW_NORM_RMS
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 1
#define ROW_NORM_SUMMARY "RMS norm of each row, with an activation"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x"), ROW_NORM_WEIGHT("gamma")
#include "rows/row_norm_target.h"
