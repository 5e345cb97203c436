/* add_layer_norm on a CPU: see cpu/row_norm.h. */
#define ROW_NORM_NAME add_layer_norm
#define ROW_NORM_KIND ROW_NORM_LAYER
#define ROW_NORM_RESIDUAL 1
#define ROW_NORM_WEIGHTS 2
#include "cpu/row_norm.h"
