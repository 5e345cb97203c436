/* The device: an H200 in all that programs ask for, but for its name and its memory. */
#include <stdio.h>
#include <string.h>

#include "memory/memory.h"
#include "runtime/limits.h"
#include "runtime/runtime.h"

enum { SM_KHZ = 1980000, MEMORY_KHZ = 3201000, MEMORY_BITS = 6144, REGISTERS = EMU_SM_REGISTERS, PERSISTING = 39321600 };
#define BUS "0000:00:00.0"

/* Attributes that are not 0. */
static const struct {
    enum cudaDeviceAttr attribute;
    int value;
} attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, EMU_MAX_THREADS},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, INT32_MAX},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, EMU_BLOCK_SHARED},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxPitch, INT32_MAX},
    {cudaDevAttrMaxRegistersPerBlock, REGISTERS},
    {cudaDevAttrClockRate, SM_KHZ},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrEccEnabled, 1},
    {cudaDevAttrMemoryClockRate, MEMORY_KHZ},
    {cudaDevAttrGlobalMemoryBusWidth, MEMORY_BITS},
    {cudaDevAttrL2CacheSize, EMU_L2_BYTES},
    {cudaDevAttrMaxThreadsPerMultiProcessor, EMU_SM_THREADS},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrComputeCapabilityMajor, EMU_SM / 10},
    {cudaDevAttrComputeCapabilityMinor, EMU_SM % 10},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, EMU_SM_SHARED},
    {cudaDevAttrMaxRegistersPerMultiprocessor, EMU_SM_REGISTERS},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrReserved94, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, EMU_OPTIN_SHARED},
    {cudaDevAttrCanFlushRemoteWrites, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrMaxBlocksPerMultiprocessor, EMU_SM_BLOCKS},
    {cudaDevAttrMaxPersistingL2CacheSize, PERSISTING},
    {cudaDevAttrMaxAccessPolicyWindowSize, 134217728},
    {cudaDevAttrReservedSharedMemoryPerBlock, EMU_RESERVED_SHARED},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrClusterLaunch, 1},
    {cudaDevAttrMemSyncDomainCount, 4},
    {cudaDevAttrHostNumaId, -1},
};

static int attribute(enum cudaDeviceAttr which) {
    if (which == cudaDevAttrMultiProcessorCount) return emu_options_get()->sm_count;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == which) return attributes[i].value;
    return 0;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
    if (device != 0) return emu_told(cudaErrorInvalidDevice);
    if (!value || (int)which <= 0 || which >= cudaDevAttrMax) return emu_told(cudaErrorInvalidValue);
    *value = attribute(which);
    return cudaSuccess;
}

static void fill_limits(struct cudaDeviceProp *p) {
    p->sharedMemPerBlock = EMU_BLOCK_SHARED;
    p->sharedMemPerBlockOptin = EMU_OPTIN_SHARED;
    p->sharedMemPerMultiprocessor = EMU_SM_SHARED;
    p->reservedSharedMemPerBlock = EMU_RESERVED_SHARED;
    p->regsPerBlock = REGISTERS;
    p->regsPerMultiprocessor = EMU_SM_REGISTERS;
    p->warpSize = 32;
    p->memPitch = INT32_MAX;
    p->maxThreadsPerBlock = EMU_MAX_THREADS;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsPerMultiProcessor = EMU_SM_THREADS;
    p->maxBlocksPerMultiProcessor = EMU_SM_BLOCKS;
    p->totalConstMem = 65536;
    p->textureAlignment = p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
    p->l2CacheSize = EMU_L2_BYTES;
    p->persistingL2CacheMaxSize = PERSISTING;
    p->accessPolicyMaxWindowSize = 134217728;
    p->memoryBusWidth = MEMORY_BITS;
}

static void fill_abilities(struct cudaDeviceProp *p) {
    p->canMapHostMemory = p->concurrentKernels = p->ECCEnabled = p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->managedMemory = p->concurrentManagedAccess = p->computePreemptionSupported = 1;
    p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = p->clusterLaunch = 1;
    p->asyncEngineCount = 3;
    p->hostNumaId = -1;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    if (device != 0) return emu_told(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    (void)snprintf(p->name, sizeof p->name, "emulated sm_90a");
    memcpy(p->uuid.bytes, "emulated sm_90a", sizeof p->uuid.bytes);
    p->totalGlobalMem = emu_options_get()->memory << 20;
    p->major = EMU_SM / 10;
    p->minor = EMU_SM % 10;
    p->multiProcessorCount = emu_options_get()->sm_count;
    fill_limits(p);
    fill_abilities(p);
    return cudaSuccess;
}

/* ---- which ---------------------------------------------------------------------------------------------------------- */

static cudaError_t only_first(int device) { return emu_told(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceCount(int *n) {
    *n = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return only_first(device); }

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    return only_first(device);
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    (void)wanted;
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *devices, int n) {
    (void)devices, (void)n;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = 0;
    return only_first(device | peer);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device) {
    if (device != 0 || bytes < (int)sizeof BUS) return emu_told(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    memcpy(id, BUS, sizeof BUS);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id) {
    *device = 0;
    return emu_told(strcmp(id, BUS) == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* ---- settings that change speed only, or nothing here ------------------------------------------------------------------ */

static unsigned device_flags;
static size_t limits[cudaLimitPersistingL2CacheSize + 1] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 7 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimeSyncDepth] = 2,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64,
};

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    device_flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    *flags = device_flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize) return emu_told(cudaErrorInvalidValue);
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize) return emu_told(cudaErrorInvalidValue);
    *value = limits[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
    (void)config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

/* Waits for all work. Memory stays allocated: the program's pointers to it may still be freed. */
cudaError_t cudaDeviceReset(void) {
    EMU_LOCKED;
    return emu_told(emu_device_wait());
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
