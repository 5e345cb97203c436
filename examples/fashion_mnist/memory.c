#include "memory.h"

#include <stdlib.h>
#include <string.h>

#ifdef RIDGE_HAVE_CUDA
#include <cuda_runtime_api.h>

const char *memory_gpu_unavailable(void) {
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);
    return e != cudaSuccess ? cudaGetErrorString(e) : n > 0 ? NULL : "there is none";
}

static void *gpu_new(size_t bytes) {
    void *memory = NULL;
    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}
static void gpu_free(void *memory) { (void)cudaFree(memory); }
static bool gpu_copy(void *to, const void *from, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess;
}
static bool gpu_wait(void) { return cudaDeviceSynchronize() == cudaSuccess; }
#else
const char *memory_gpu_unavailable(void) { return "this was built without CUDA"; }
static void *gpu_new(size_t bytes) { return (void)bytes, NULL; }
static void gpu_free(void *memory) { (void)memory; }
static bool gpu_copy(void *to, const void *from, size_t bytes) { return (void)to, (void)from, (void)bytes, false; }
static bool gpu_wait(void) { return false; }
#endif

void *memory_new(bool gpu, size_t bytes) { return gpu ? gpu_new(bytes) : calloc(1, bytes); }
void memory_free(bool gpu, void *memory) {
    if (gpu)
        gpu_free(memory);
    else
        free(memory);
}
bool memory_put(bool gpu, void *to, const void *from, size_t bytes) {
    if (gpu) return gpu_copy(to, from, bytes);
    memcpy(to, from, bytes);
    return true;
}
bool memory_get(bool gpu, void *to, const void *from, size_t bytes) { return memory_put(gpu, to, from, bytes); }
bool memory_wait(bool gpu) { return !gpu || gpu_wait(); }
