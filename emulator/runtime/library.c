/* Kernels that a program loads itself, as those of compilers at run time and of Triton: cudaLibrary…. An image's PTX is opened when
 * it is loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/limits.h"
#include "runtime/runtime.h"

struct CUlib_st {
    emu_fatbin *fatbin;
    emu_kernel **kernel; /* in the order of the PTX */
    size_t n_kernels;
};

static cudaError_t open_library(cudaLibrary_t *out, const void *image) {
    emu_fatbin *fatbin = emu_fatbin_add(image);
    cudaError_t error = emu_fatbin_open(fatbin);
    if (error != cudaSuccess) return error;
    struct CUlib_st *library = emu_alloc(sizeof *library);
    const ptx_module *module = emu_fatbin_module(fatbin);
    *library = (struct CUlib_st){.fatbin = fatbin};
    for (int i = 0; i < module->n_functions; i++) {
        if (!module->function[i]->entry) continue;
        library->kernel = emu_grow(library->kernel, library->n_kernels + 1, sizeof(emu_kernel *));
        library->kernel[library->n_kernels++] = emu_kernel_add(fatbin, module->function[i]->name, NULL);
    }
    *out = library;
    return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit, void **jit_values,
                                unsigned n_jit, enum cudaLibraryOption *option, void **values, unsigned n) {
    EMU_LOCKED;
    (void)jit, (void)jit_values, (void)n_jit, (void)option, (void)values, (void)n;
    return emu_told(library && code ? open_library(library, code) : cudaErrorInvalidValue);
}

/* With a zero behind it, which ends PTX. */
static char *contents(const char *path) {
    enum { CHUNK = 1 << 16 };
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t n = 0, got = 0;
    if (!file) return NULL;
    do {
        data = emu_grow(data, n + CHUNK + 1, 1);
        n += got = fread(data + n, 1, CHUNK, file);
    } while (got == CHUNK);
    data[n] = '\0';
    (void)fclose(file);
    return data;
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *jit,
                                    void **jit_values, unsigned n_jit, enum cudaLibraryOption *option, void **values,
                                    unsigned n) {
    EMU_LOCKED;
    (void)jit, (void)jit_values, (void)n_jit, (void)option, (void)values, (void)n;
    if (!library || !path) return emu_told(cudaErrorInvalidValue);
    char *data = contents(path);
    const cudaError_t error = data ? open_library(library, data) : cudaErrorFileNotFound;
    free(data); /* an opened module has a copy */
    return emu_told(error);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    EMU_LOCKED;
    if (!library) return emu_told(cudaErrorInvalidResourceHandle);
    for (size_t i = 0; i < library->n_kernels; i++) emu_kernel_remove(library->kernel[i]);
    free(library->kernel);
    free(library);
    return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    EMU_LOCKED;
    if (!kernel || !library || !name) return emu_told(cudaErrorInvalidValue);
    for (size_t i = 0; i < library->n_kernels; i++) {
        if (strcmp(library->kernel[i]->name, name) != 0) continue;
        *kernel = library->kernel[i];
        return cudaSuccess;
    }
    return emu_told(cudaErrorSymbolNotFound);
}

cudaError_t cudaLibraryGetKernelCount(unsigned *n, cudaLibrary_t library) {
    EMU_LOCKED;
    if (!n || !library) return emu_told(cudaErrorInvalidValue);
    *n = (unsigned)library->n_kernels;
    return cudaSuccess;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned n, cudaLibrary_t library) {
    EMU_LOCKED;
    if (!kernels || !library) return emu_told(cudaErrorInvalidValue);
    for (size_t i = 0; i < n && i < library->n_kernels; i++) kernels[i] = library->kernel[i];
    return cudaSuccess;
}

cudaError_t cudaLibraryGetGlobal(void **memory, size_t *bytes, cudaLibrary_t library, const char *name) {
    EMU_LOCKED;
    if (!library || !name) return emu_told(cudaErrorInvalidValue);
    const ptx_variable *v = ptx_variable_find(emu_fatbin_module(library->fatbin), name);
    if (!v || !v->user) return emu_told(cudaErrorSymbolNotFound);
    if (memory) *memory = v->user;
    if (bytes) *bytes = v->bytes;
    return cudaSuccess;
}
