/* linear_cross_entropy_backward on a CPU. */
#include "linear_cross_entropy_backward.h"

#include "linear/loss_cpu_target.h"
