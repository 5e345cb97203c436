/* What this build has for GPUs. cmake/cuda.cmake defines RIDGE_CUDA_ABSENT, its reason to leave CUDA code out. */
#include "core/cuda.h"

#include <stddef.h>

#include "ridge/cuda.h"

const char *ridge_cuda_absent(void) {
#ifdef RIDGE_CUDA_ABSENT
    return "this build has no CUDA code (" RIDGE_CUDA_ABSENT ")";
#else
    return NULL;
#endif
}

/* The emulator's own function, which CUDA's runtime lacks. Which of the two a program has is decided where it is
 * linked: both kinds of programs have the same objects. */
struct emulator_counts;
extern void emulator_get_counts(struct emulator_counts *counts) __attribute__((weak));

bool ridge_cuda_emulated(void) { return emulator_get_counts != NULL; }
