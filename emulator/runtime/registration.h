/* Functions that nvcc's host code calls and no header declares for C. */
#ifndef EMULATOR_RUNTIME_REGISTRATION_H
#define EMULATOR_RUNTIME_REGISTRATION_H

#include <cuda_runtime_api.h>

void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            void *tid, void *bid, void *block, void *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, size_t *shared, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                                    cudaStream_t stream);
#endif
