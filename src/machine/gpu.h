/* The GPU of this machine. */
#ifndef RIDGE_MACHINE_GPU_H
#define RIDGE_MACHINE_GPU_H

#include "machine/machine.h"

/* gpu->sm is 0 when there is none that can be used; `why` then says so in one line. */
void ridge_gpu_detect(ridge_gpu *gpu, char *why, int size);

#endif
