/* l2_norm on a CPU: see cpu/row_norm.h. */
#define ROW_NORM_NAME l2_norm
#define ROW_NORM_KIND ROW_NORM_L2
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 0
#include "cpu/row_norm.h"
