/* The few functions of the driver that programs reach through the runtime (cudaGetDriverEntryPoint) or by linking to
 * it. */
#include <cuda.h>
#include <string.h>

#include "async/tensor_map.h"
#include "runtime/runtime.h"

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
    EMU_LOCKED;
    const emu_tensor_request request = {map,          address,        (int)type,       rank,
                                        sizes,        strides,        element_strides, (int)interleave,
                                        (int)swizzle, (int)promotion, (int)fill};
    const char *why = NULL;
    int result = emu_tensor_map_tiled(&request, box, &why);
    if (result != CUDA_SUCCESS) emu_say("cuTensorMapEncodeTiled: %s", why ? why : "refused");
    return (CUresult)result;
}

/* NOLINTNEXTLINE(readability-function-size): cuda.h has as many parameters */
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    EMU_LOCKED;
    const emu_tensor_request request = {map,          address,        (int)type,       rank,
                                        sizes,        strides,        element_strides, (int)interleave,
                                        (int)swizzle, (int)promotion, (int)fill};
    const char *why = NULL;
    int result = emu_tensor_map_im2col(&request, lower, upper, channels, pixels, &why);
    if (result != CUDA_SUCCESS) emu_say("cuTensorMapEncodeIm2col: %s", why ? why : "refused");
    return (CUresult)result;
}

CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) {
    *n = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Attributes have the same numbers in both interfaces. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    return (CUresult)cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device);
}

CUresult cuCtxGetDevice(CUdevice *device) {
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    static char only;
    *context = (CUcontext)(void *)&only;
    return CUDA_SUCCESS;
}

/* Most errors have the same numbers in both interfaces, too. */
CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = cudaGetErrorString((cudaError_t)error);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = cudaGetErrorName((cudaError_t)error);
    return CUDA_SUCCESS;
}

/* ---- by name --------------------------------------------------------------------------------------------------- */

typedef void entry(void);
static const struct {
    const char *name;
    entry *function;
} entries[] = {
#define ENTRY(name) \
    { #name, (entry *)name }
    ENTRY(cuTensorMapEncodeTiled), ENTRY(cuTensorMapEncodeIm2col), ENTRY(cuInit),
    ENTRY(cuDriverGetVersion),     ENTRY(cuDeviceGetCount),        ENTRY(cuDeviceGet),
    ENTRY(cuGetErrorString),       ENTRY(cuGetErrorName),          ENTRY(cuDeviceGetAttribute),
    ENTRY(cuCtxGetDevice),         ENTRY(cuCtxGetCurrent),
#undef ENTRY
};

static cudaError_t entry_point(const char *name, void **function, enum cudaDriverEntryPointQueryResult *result) {
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0) memcpy(function, &entries[i].function, sizeof *function);
    if (!*function) emu_say("%s is not supported", name);
    if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *function || result ? cudaSuccess : emu_told(cudaErrorSymbolNotFound);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result) {
    EMU_LOCKED;
    (void)version, (void)flags;
    return entry_point(name, function, result);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result) {
    return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, result);
}
#pragma GCC diagnostic pop
