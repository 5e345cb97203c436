/* linear_cross_entropy_grad on a CPU. */
#include "linear_cross_entropy_grad.h"

#include "linear/loss_cpu_target.h"
