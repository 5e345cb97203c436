/* layer_norm_backward on a CPU: see norm_backward/cpu.h. */
#define NORM_BACK_NAME layer_norm_backward
#define NORM_BACK_CENTERED 1
#include "norm_backward/cpu.h"
