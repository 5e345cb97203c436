/* What a program's CUDA runtime is, for variants that bind other libraries for GPUs. */
#ifndef RIDGE_CUDA_H
#define RIDGE_CUDA_H

#include <stdbool.h>

#include "ridge/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The GPU is emulated on the CPU (docs/EMULATOR.md): no other library for GPUs can use it. */
RIDGE_API bool ridge_cuda_emulated(void);

#ifdef __cplusplus
}
#endif
#endif
