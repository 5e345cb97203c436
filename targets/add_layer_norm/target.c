/* sum = x + residual, y = activation(layer norm of sum)
 * See README.md. */
#define ROW_NORM_NAME add_layer_norm
#define ROW_NORM_KIND ROW_NORM_LAYER
#define ROW_NORM_RESIDUAL 1
#define ROW_NORM_WEIGHTS 2
#define ROW_NORM_SUMMARY "sum of two matrices, and its layer norm, with an activation"
#define ROW_NORM_INPUTS \
    ROW_NORM_MATRIX("x"), ROW_NORM_MATRIX("residual"), ROW_NORM_WEIGHT("gamma"), ROW_NORM_WEIGHT("beta")
#include "rows/row_norm_target.h"
