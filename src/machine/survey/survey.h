/* Measures sets of ceilings by the meters: the CPU's (memory, peaks) and the GPU's. */
#ifndef RIDGE_MACHINE_SURVEY_SURVEY_H
#define RIDGE_MACHINE_SURVEY_SURVEY_H

#include "machine/ceilings/gpu.h"
#include "machine/memory/meter.h"

/* Progress callback, may be NULL. done and total count steps; `what` names the next one. False ends the measurement. */
typedef bool (*ridge_progress_fn)(void *arg, int done, int total, const char *what);

/* About 8 s for a set. RIDGE_INTERRUPTED: progress ended it. */
ridge_status ridge_ceilings_measure(const ridge_machine *machine, int threads, ridge_progress_fn progress, void *arg,
                                    ridge_ceilings *ceilings, ridge_error *error);

/* What the first of several probes chose, and all others measure: the fastest movers, and the fastest fp32 peak. */
typedef struct ridge_probe {
    ridge_shortlist movers;
    char fp32[24]; /* the peak's name */
} ridge_probe;

/* Measures DRAM rates and the best fp32 peak only, in under one second; `probe` begins as zeros. A run probes before and
 * after, to see drift. */
ridge_status ridge_ceilings_probe(const ridge_machine *machine, int threads, ridge_probe *probe, ridge_level *dram,
                                  ridge_peak *fp32, ridge_error *error);

/* What a probe alone says, as a set: memory and fp32, and the size of the caches as the system reports it. */
void ridge_ceilings_of_probe(const ridge_machine *machine, int threads, const ridge_level *dram, const ridge_peak *fp32,
                             ridge_ceilings *ceilings);

/* Measures in a child process, in under 6 s; CUDA is never initialized in this one. Levels: "shared" (never the level
 * of a hot case, because only a kernel puts data there), "L2", "DRAM". Peaks: fp32, tf32, fp16, bf16, fp8, int8. */
ridge_status ridge_gpu_ceilings_measure(const ridge_gpu *gpu, ridge_progress_fn progress, void *arg, ridge_ceilings *c,
                                        ridge_error *error);

#endif
