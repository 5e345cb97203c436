/* norm_activation on a CPU: see cpu/row_norm.h. */
#define ROW_NORM_NAME norm_activation
#define ROW_NORM_KIND ROW_NORM_LAYER
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 2
#define ROW_NORM_FIXED NORM_EPS, ACTIVATION_GELU
#include "cpu/row_norm.h"
