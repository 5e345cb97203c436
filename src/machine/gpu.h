/* The GPU of this machine: whether there is one, what it reaches, and what its maker says it should. */
#ifndef RIDGE_MACHINE_GPU_H
#define RIDGE_MACHINE_GPU_H

#include "machine/ceilings.h"

/* gpu->sm is 0 when there is none that can be used; `why` then says so in one line. */
void ridge_gpu_detect(ridge_gpu *gpu, char *why, int size);

/* ---- ceilings: the same struct and the same file as the CPU's, with threads = 0 ---------------------------------- */

/* "nvidia-h200-sm90-132sm": for this kind of GPU, or this slice of one. */
void ridge_gpu_key(const ridge_gpu *gpu, char *key, int size);

/* In a child process; CUDA is never initialized in this one. Levels "shared" (left out when what a hot case is held to
 * is looked up: it holds what a kernel puts there), "L2", "DRAM"; peaks fp32, tf32, fp16, bf16, fp8, int8. Under 6 s.
 */
ridge_status ridge_gpu_ceilings_measure(const ridge_gpu *gpu, ridge_progress_fn progress, void *arg, ridge_ceilings *c,
                                        ridge_error *error);
ridge_status ridge_gpu_ceilings_load(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error);

/* Capacity of the cache that a ladder of working sets shows, bytes; 0 when it shows none. */
double ridge_gpu_plateau(const ridge_rung *rungs, int n);

/* ---- datasheets: dense rates as the maker states them --------------------------------------------------------------
 */

typedef struct ridge_datasheet {
    const char *name;   /* as the driver names the device */
    const char *source; /* "NVIDIA H200 Tensor Core GPU datasheet" */
    double dram_gbps;
    double fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 a second, without sparsity, sums in fp32; 0: not stated */
} ridge_datasheet;

const ridge_datasheet *ridge_datasheet_find(const char *gpu_name); /* NULL: not in the table */
/* 1e9 a second; 0 when it is not stated or datasheet is NULL. dtype as in ridge_peak. */
double ridge_datasheet_rate(const ridge_datasheet *datasheet, const char *dtype);

#endif
