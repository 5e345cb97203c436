/* norm_activation_rms on a CPU: see cpu/row_norm.h. */
#define ROW_NORM_NAME norm_activation_rms
#define ROW_NORM_KIND ROW_NORM_RMS
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 1
#define ROW_NORM_FIXED NORM_EPS, ACTIVATION_SILU
#include "cpu/row_norm.h"
