/* The GPU of this machine: whether one can be used, and what it is. */
#ifndef RIDGE_MACHINE_IDENTITY_GPU_H
#define RIDGE_MACHINE_IDENTITY_GPU_H

#include "machine/identity/machine.h"

/* gpu->sm is 0 when no GPU can be used; `why` then gives the reason in one line. */
void ridge_gpu_detect(ridge_gpu *gpu, char *why, int size);

#endif
