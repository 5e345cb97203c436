/* Memory pools: one, that only counts. */
#include "memory/memory.h"
#include "runtime/runtime.h"

struct CUmemPoolHandle_st {
    uint64_t threshold;
    int reuse[4]; /* by attribute */
};
static struct CUmemPoolHandle_st only = {.reuse = {0, 1, 1, 1}};

static cudaError_t give(cudaMemPool_t *pool, int device) {
    *pool = &only;
    return emu_told(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) { return give(pool, device); }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return give(pool, device); }

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return emu_told(device == 0 && pool == &only ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    (void)properties;
    return give(pool, 0);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return emu_told(pool == &only ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    (void)bytes;
    return cudaMemPoolDestroy(pool);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    EMU_LOCKED;
    if (pool != &only) return emu_told(cudaErrorInvalidValue);
    if (attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies)
        pool->reuse[attribute] = *(const int *)value;
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        pool->threshold = *(const uint64_t *)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    EMU_LOCKED;
    if (pool != &only) return emu_told(cudaErrorInvalidValue);
    if (attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies)
        *(int *)value = pool->reuse[attribute];
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = pool->threshold;
    else
        *(uint64_t *)value = emu_memory_in_use();
    return cudaSuccess;
}
