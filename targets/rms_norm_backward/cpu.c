/* rms_norm_backward on a CPU: see norm_backward/cpu.h. */
#define NORM_BACK_NAME rms_norm_backward
#define NORM_BACK_CENTERED 0
#include "norm_backward/cpu.h"
