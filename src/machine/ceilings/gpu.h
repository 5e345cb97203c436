/* The GPU's ceilings: the same struct and the same file as the CPU's, with threads = 0. */
#ifndef RIDGE_MACHINE_CEILINGS_GPU_H
#define RIDGE_MACHINE_CEILINGS_GPU_H

#include "machine/ceilings/ceilings.h"

/* "nvidia-h200-sm90-132sm": names this kind of GPU, or this MIG slice of one. */
void ridge_gpu_key(const ridge_gpu *gpu, char *key, int size);

ridge_status ridge_gpu_ceilings_load(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error);

/* Capacity in bytes of the cache that a ladder of working sets shows; 0 if it shows none. */
double ridge_gpu_plateau(const ridge_rung *rungs, int n);

#endif
