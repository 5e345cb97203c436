/* y = activation(x / max(||x||, eps))        x, y: [rows, cols]; f32, bf16 or f16
 * See README.md. */
#define ROW_NORM_NAME l2_norm
#define ROW_NORM_KIND ROW_NORM_L2
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 0
#define ROW_NORM_SUMMARY "x / max(||x||, eps) of each row, with an activation"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x")
#include "rows/row_norm_target.h"
