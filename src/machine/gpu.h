/* The GPU of this machine: its presence, its measured ceilings, and its datasheet. */
#ifndef RIDGE_MACHINE_GPU_H
#define RIDGE_MACHINE_GPU_H

#include "machine/ceilings.h"

/* gpu->sm is 0 when no GPU can be used; `why` then gives the reason in one line. */
void ridge_gpu_detect(ridge_gpu *gpu, char *why, int size);

/* ---- ceilings: the same struct and the same file as the CPU's, with threads = 0 ---------------------------------- */

/* "nvidia-h200-sm90-132sm": names this kind of GPU, or this MIG slice of one. */
void ridge_gpu_key(const ridge_gpu *gpu, char *key, int size);

/* Measures in a child process, in under 6 s; CUDA is never initialized in this one. Levels: "shared" (never the level
 * of a hot case, because only a kernel puts data there), "L2", "DRAM". Peaks: fp32, tf32, fp16, bf16, fp8, int8. */
ridge_status ridge_gpu_ceilings_measure(const ridge_gpu *gpu, ridge_progress_fn progress, void *arg, ridge_ceilings *c,
                                        ridge_error *error);
ridge_status ridge_gpu_ceilings_load(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error);

/* Capacity in bytes of the cache that a ladder of working sets shows; 0 if it shows none. */
double ridge_gpu_plateau(const ridge_rung *rungs, int n);

/* ---- datasheets: dense rates as the vendor states them ----------------------------------------------------------- */

typedef struct ridge_datasheet {
    const char *name;   /* as the driver names the device */
    const char *source; /* "NVIDIA H200 Tensor Core GPU datasheet" */
    double dram_gbps;
    double fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 a second, dense, fp32 accumulation; 0: not stated */
} ridge_datasheet;

const ridge_datasheet *ridge_datasheet_find(const char *gpu_name); /* NULL: not in the table */
/* 1e9 a second; 0 when it is not stated or datasheet is NULL. dtype as in ridge_peak. */
double ridge_datasheet_rate(const ridge_datasheet *datasheet, const char *dtype);

#endif
