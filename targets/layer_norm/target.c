/* y = activation((x - mean) / sqrt(var + eps) gamma + beta)     x, y: [rows, cols], gamma, beta: [cols]
 * See README.md. */
#define ROW_NORM_NAME layer_norm
#define ROW_NORM_KIND ROW_NORM_LAYER
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 2
#define ROW_NORM_SUMMARY "layer norm of each row, with an activation"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x"), ROW_NORM_WEIGHT("gamma"), ROW_NORM_WEIGHT("beta")
#include "rows/row_norm_target.h"
