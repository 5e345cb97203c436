/* What this build has for GPUs. ridge/cuda.h declares ridge_cuda_emulated(), the other half. */
#ifndef RIDGE_CORE_CUDA_H
#define RIDGE_CORE_CUDA_H

/* Why this build has no CUDA code: "this build has no CUDA code (nvcc was not found)". NULL: it has. */
const char *ridge_cuda_absent(void);

#endif
