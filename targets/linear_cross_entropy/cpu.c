/* linear_cross_entropy on a CPU. */
#include "linear_cross_entropy.h"

#include "linear/loss_cpu_target.h"
