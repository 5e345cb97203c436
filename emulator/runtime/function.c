/* Attributes of kernels, and how many of their blocks fit. */
#include "runtime/limits.h"
#include "runtime/runtime.h"
#include "runtime/schedule.h"

static int dynamic_limit(const emu_kernel *kernel) {
    int fixed = (int)kernel->code->shared_bytes;
    if (kernel->max_dynamic_shared >= 0) return kernel->max_dynamic_shared;
    return fixed < EMU_BLOCK_SHARED ? EMU_BLOCK_SHARED - fixed : 0;
}

static int most_threads(const emu_kernel *kernel) {
    const ptx_function *f = kernel->function;
    const uint32_t *t = f->required_threads[0] ? f->required_threads : f->max_threads;
    if (t[0]) return (int)(t[0] * (t[1] ? t[1] : 1) * (t[2] ? t[2] : 1));
    int by_registers = EMU_SM_REGISTERS / emu_registers_at_least(f) / 32 * 32;
    return by_registers < EMU_MAX_THREADS ? by_registers : EMU_MAX_THREADS;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *function) {
    EMU_LOCKED;
    emu_kernel *kernel = emu_kernel_of(function);
    cudaError_t error = kernel ? emu_kernel_load(kernel) : cudaErrorInvalidDeviceFunction;
    if (error != cudaSuccess) return emu_told(error);
    const ptx_function *f = kernel->function;
    *out = (struct cudaFuncAttributes){.sharedSizeBytes = kernel->code->shared_bytes,
                                       .localSizeBytes = kernel->code->local_bytes,
                                       .maxThreadsPerBlock = most_threads(kernel),
                                       .numRegs = emu_registers_of(f),
                                       .ptxVersion = emu_options_get()->architecture,
                                       .binaryVersion = emu_options_get()->architecture,
                                       .maxDynamicSharedSizeBytes = dynamic_limit(kernel),
                                       .preferredShmemCarveout = kernel->carveout,
                                       .clusterDimMustBeSet = f->explicit_cluster && !f->cluster[0],
                                       .requiredClusterWidth = (int)f->cluster[0],
                                       .requiredClusterHeight = (int)f->cluster[1],
                                       .requiredClusterDepth = (int)f->cluster[2],
                                       .nonPortableClusterSizeAllowed = kernel->non_portable_cluster};
    return cudaSuccess;
}

static cudaError_t set_attribute(emu_kernel *kernel, enum cudaFuncAttribute attribute, int value) {
    switch ((int)attribute) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize:
            if (value < 0 || value > EMU_OPTIN_SHARED) return cudaErrorInvalidValue;
            if (kernel->code && value > EMU_OPTIN_SHARED - (int)kernel->code->shared_bytes)
                return cudaErrorInvalidValue;
            kernel->max_dynamic_shared = value;
            return cudaSuccess;
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            if (value < -1 || value > 100) return cudaErrorInvalidValue;
            kernel->carveout = value;
            return cudaSuccess;
        case cudaFuncAttributeNonPortableClusterSizeAllowed:
            kernel->non_portable_cluster = value != 0;
            return cudaSuccess;
        case cudaFuncAttributeClusterDimMustBeSet:
        case cudaFuncAttributeClusterSchedulingPolicyPreference: return cudaSuccess;
        default: return cudaErrorInvalidValue;
    }
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
    EMU_LOCKED;
    emu_kernel *kernel = emu_kernel_of(function);
    return emu_told(kernel ? set_attribute(kernel, attribute, value) : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                            int device) {
    return device ? emu_told(cudaErrorInvalidDevice) : cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
    EMU_LOCKED;
    (void)config;
    return emu_told(emu_kernel_of(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes) {
    EMU_LOCKED;
    emu_kernel *kernel = emu_kernel_of(function);
    cudaError_t error = kernel ? emu_kernel_load(kernel) : cudaErrorInvalidDeviceFunction;
    if (error != cudaSuccess) return emu_told(error);
    if (index >= (size_t)kernel->function->n_parameters) return emu_told(cudaErrorInvalidValue);
    const ptx_variable *p = &kernel->function->parameter[index];
    if (offset) *offset = (size_t)p->parameter;
    if (bytes) *bytes = p->bytes;
    return cudaSuccess;
}

/* ---- occupancy ------------------------------------------------------------------------------------------------- */

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                   size_t dynamic_shared, unsigned flags) {
    EMU_LOCKED;
    (void)flags;
    emu_kernel *kernel = emu_kernel_of(function);
    cudaError_t error = kernel ? emu_kernel_load(kernel) : cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess && (!blocks || threads <= 0)) error = cudaErrorInvalidValue;
    if (error != cudaSuccess) return emu_told(error);
    bool fits = dynamic_shared <= (size_t)dynamic_limit(kernel) && threads <= most_threads(kernel);
    *blocks = fits ? emu_occupancy(kernel->code, (uint32_t)threads, (uint32_t)dynamic_shared) : 0;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                          size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads) {
    EMU_LOCKED;
    emu_kernel *kernel = emu_kernel_of(function);
    cudaError_t error = kernel ? emu_kernel_load(kernel) : cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess && (!bytes || blocks <= 0 || threads <= 0)) error = cudaErrorInvalidValue;
    if (error != cudaSuccess) return emu_told(error);
    size_t share = (size_t)EMU_SM_SHARED / (size_t)blocks / 128 * 128,
           fixed = kernel->code->shared_bytes + EMU_RESERVED_SHARED;
    *bytes = share > fixed ? share - fixed : 0;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const cudaLaunchConfig_t *config) {
    EMU_LOCKED;
    emu_kernel *kernel = emu_kernel_of(function);
    emu_launch launch;
    cudaError_t error = emu_launch_shape(config, kernel, &launch);
    if (error != cudaSuccess) return emu_told(error);
    *clusters = (int)emu_launch_capacity(&launch);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config) {
    EMU_LOCKED;
    (void)config;
    const emu_kernel *kernel = emu_kernel_of(function);
    if (!kernel) return emu_told(cudaErrorInvalidDeviceFunction);
    *size = kernel->non_portable_cluster ? EMU_MAX_CLUSTER : EMU_PORTABLE_CLUSTER;
    return cudaSuccess;
}
