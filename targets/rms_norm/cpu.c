/* rms_norm on a CPU: see cpu/row_norm.h. */
#define ROW_NORM_NAME rms_norm
#define ROW_NORM_KIND ROW_NORM_RMS
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 1
#include "cpu/row_norm.h"
