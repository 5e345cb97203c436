/* Memory as the host allocates and asks for it. */
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "runtime/runtime.h"

static cudaError_t allocate(void **out, size_t bytes, emu_memory_kind kind) {
    EMU_LOCKED;
    if (!out) return emu_told(cudaErrorInvalidValue);
    *out = NULL;
    if (emu_unsafe_in_capture()) return emu_told(cudaErrorStreamCaptureUnsupported);
    if (bytes == 0) return cudaSuccess;
    *out = emu_memory_allocate(bytes, kind);
    return emu_told(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) { return allocate(memory, bytes, EMU_DEVICE); }
cudaError_t cudaMallocHost(void **memory, size_t bytes) { return allocate(memory, bytes, EMU_PINNED); }

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate(memory, bytes, EMU_PINNED);
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags) {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return emu_told(cudaErrorInvalidValue);
    return allocate(memory, bytes, EMU_MANAGED);
}

enum { PITCH = 512 };

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return allocate(memory, *pitch * height, EMU_DEVICE);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent) {
    *memory = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

/* Waits for the device, as the real one does, then frees. */
static cudaError_t release(void *memory, bool host) {
    EMU_LOCKED;
    if (!memory) return cudaSuccess;
    const emu_allocation *a = emu_memory_find(memory);
    if (!a || a->memory != memory || (a->kind == EMU_PINNED) != host || a->kind == EMU_VARIABLE)
        return emu_told(cudaErrorInvalidValue);
    if (emu_unsafe_in_capture()) return emu_told(cudaErrorStreamCaptureUnsupported);
    cudaError_t error = emu_device_wait();
    (void)emu_memory_free(memory);
    return emu_told(error);
}

cudaError_t cudaFree(void *memory) { return release(memory, false); }
cudaError_t cudaFreeHost(void *memory) { return release(memory, true); }

/* ---- in stream order ------------------------------------------------------------------------------------------- */

/* The address is known at once; who uses the memory before the stream gets there is not found. */
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t handle) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (stream->capture) return emu_told(cudaErrorStreamCaptureUnsupported);
    *memory = bytes ? emu_memory_allocate(bytes, EMU_DEVICE) : NULL;
    return emu_told(*memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    (void)pool;
    return cudaMallocAsync(memory, bytes, stream);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    EMU_LOCKED;
    const emu_allocation *a = emu_memory_find(memory);
    if (!memory) return cudaSuccess;
    if (!a || a->memory != memory) return emu_told(cudaErrorInvalidValue);
    return emu_told(emu_enqueue(stream, &(emu_action){.kind = EMU_FREE, .memory = memory}));
}

/* ---- host memory of the program's own ---------------------------------------------------------------------------- */

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags) {
    EMU_LOCKED;
    (void)flags;
    if (!memory || bytes == 0) return emu_told(cudaErrorInvalidValue);
    if (!emu_memory_register(memory, bytes, EMU_PINNED, NULL)) return emu_told(cudaErrorHostMemoryAlreadyRegistered);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory) {
    EMU_LOCKED;
    cudaError_t error = emu_device_wait();
    if (error != cudaSuccess) return emu_told(error);
    return emu_told(emu_memory_free(memory) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    EMU_LOCKED;
    (void)flags;
    const emu_allocation *a = emu_memory_find(host);
    *device = a ? host : NULL;
    return emu_told(a ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    EMU_LOCKED;
    const emu_allocation *a = emu_memory_find(host);
    *flags = cudaHostAllocMapped;
    return emu_told(a && a->kind == EMU_PINNED ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
    EMU_LOCKED;
    uint64_t in_use = emu_memory_in_use();
    *total = emu_memory_capacity();
    *unused = in_use < *total ? *total - in_use : 0;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *pointer) {
    EMU_LOCKED;
    static const enum cudaMemoryType types[] = {[EMU_DEVICE] = cudaMemoryTypeDevice,
                                                [EMU_PINNED] = cudaMemoryTypeHost,
                                                [EMU_MANAGED] = cudaMemoryTypeManaged,
                                                [EMU_VARIABLE] = cudaMemoryTypeDevice};
    const emu_allocation *a = emu_memory_find(pointer);
    memset(out, 0, sizeof *out);
    out->type = a ? types[a->kind] : cudaMemoryTypeUnregistered;
    out->device = a ? 0 : -2; /* as the runtime says of memory that it does not know */
    out->devicePointer = a ? (void *)(uintptr_t)pointer : NULL;
    out->hostPointer = a && out->type == cudaMemoryTypeDevice ? NULL : (void *)(uintptr_t)pointer;
    return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void *memory, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation where) {
    EMU_LOCKED;
    (void)bytes, (void)advice, (void)where;
    return emu_told(emu_memory_find(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPrefetchAsync(const void *memory, size_t bytes, struct cudaMemLocation where, unsigned flags,
                                 cudaStream_t stream) {
    EMU_LOCKED;
    (void)bytes, (void)where, (void)flags;
    if (!emu_stream_of(stream)) return emu_told(cudaErrorInvalidResourceHandle);
    return emu_told(emu_memory_find(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *memory, size_t bytes, unsigned flags) {
    EMU_LOCKED;
    (void)bytes, (void)flags;
    if (!emu_stream_of(stream)) return emu_told(cudaErrorInvalidResourceHandle);
    return emu_told(emu_memory_find(memory) ? cudaSuccess : cudaErrorInvalidValue);
}
