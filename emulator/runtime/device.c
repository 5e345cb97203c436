/* The device: an H200 in all that programs ask for, but for its name and its memory. */
#include <stdio.h>
#include <string.h>

#include "memory/memory.h"
#include "runtime/limits.h"
#include "runtime/runtime.h"

enum { MEMORY_BITS = 6016, REGISTERS = EMU_SM_REGISTERS, PERSISTING = 39321600 };
#define BUS "0000:00:00.0"

/* Numbers of cudaDeviceAttr and what an H200 answers; the others are 0, as are those of what the emulator does not
 * have. */
static const int attributes[][2] = {
    {1, 1024},     {2, 1024},   {3, 1024},      {4, 64},          {5, 2147483647}, {6, 65535},      {7, 65535},
    {8, 49152},    {9, 65536},  {10, 32},       {11, 2147483647}, {12, 65536},     {13, 1980000},   {14, 512},
    {15, 1},       {19, 1},     {21, 131072},   {22, 131072},     {23, 65536},     {24, 16384},     {25, 16384},
    {26, 16384},   {27, 32768}, {28, 32768},    {29, 2048},       {30, 512},       {31, 1},         {32, 1},
    {36, 3201000}, {37, 6016},  {38, 62914560}, {39, 2048},       {40, 3},         {41, 1},         {42, 32768},
    {43, 2048},    {44, 1},     {45, 32768},    {46, 32768},      {47, 8192},      {48, 8192},      {49, 32768},
    {51, 32},      {52, 32768}, {53, 32768},    {54, 2046},       {55, 32768},     {56, 131072},    {57, 65536},
    {58, 16384},   {59, 16384}, {60, 16384},    {61, 32768},      {62, 2048},      {63, 32768},     {64, 32768},
    {65, 2048},    {66, 32768}, {67, 32768},    {68, 2046},       {69, 268435456}, {70, 131072},    {71, 65000},
    {72, 2097120}, {73, 32768}, {74, 32768},    {77, 32768},      {78, 1},         {79, 1},         {80, 1},
    {81, 233472},  {82, 65536}, {83, 1},        {87, 2},          {89, 1},         {90, 1},         {91, 1},
    {95, 1},       {96, 1},     {97, 232448},   {99, 1},          {106, 32},       {108, 39321600}, {109, 134217728},
    {111, 1024},   {115, 1},    {120, 1},       {126, 4},         {131, -1},
};

static int attribute(enum cudaDeviceAttr which) {
    if (which == cudaDevAttrComputeCapabilityMajor) return emu_options_get()->architecture / 10;
    if (which == cudaDevAttrComputeCapabilityMinor) return emu_options_get()->architecture % 10;
    if (which == cudaDevAttrMultiProcessorCount) return emu_options_get()->sm_count;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i][0] == (int)which) return attributes[i][1];
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
    (void)snprintf(p->name, sizeof p->name, "emulated sm_%da", emu_options_get()->architecture);
    memcpy(p->uuid.bytes, "emulated sm_90a", sizeof p->uuid.bytes);
    p->totalGlobalMem = emu_options_get()->memory << 20;
    p->major = emu_options_get()->architecture / 10;
    p->minor = emu_options_get()->architecture % 10;
    p->multiProcessorCount = emu_options_get()->sm_count;
    fill_limits(p);
    fill_abilities(p);
    return cudaSuccess;
}

/* ---- which ----------------------------------------------------------------------------------------------------- */

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
    if (device != 0 || bytes < (int)sizeof BUS)
        return emu_told(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
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

/* ---- settings that change speed only, or nothing here ------------------------------------------------------------ */

static unsigned device_flags;
static size_t limits[cudaLimitPersistingL2CacheSize + 1] = {
    [cudaLimitStackSize] = 1024,           [cudaLimitPrintfFifoSize] = 8650752,
    [cudaLimitMallocHeapSize] = 8 << 20,   [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64, [cudaLimitPersistingL2CacheSize] = 11796480,
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
    if (limit == cudaLimitDevRuntimeSyncDepth) return emu_told(cudaErrorUnsupportedLimit);
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize) return emu_told(cudaErrorInvalidValue);
    if (limit == cudaLimitDevRuntimeSyncDepth) return emu_told(cudaErrorUnsupportedLimit);
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
