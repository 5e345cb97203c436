/* What a stream is, and host functions in it. */
#include <stdlib.h>

#include "runtime/runtime.h"

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    *flags = stream->flags;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    *priority = stream->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *id) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    *id = stream->id;
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device) {
    EMU_LOCKED;
    *device = 0;
    return emu_told(emu_stream_of(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/* Attributes are of speed: they are taken and forgotten. */
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue *value) {
    EMU_LOCKED;
    (void)attribute, (void)value;
    return emu_told(emu_stream_of(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue *value) {
    EMU_LOCKED;
    (void)attribute;
    *value = (cudaLaunchAttributeValue){0};
    return emu_told(emu_stream_of(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    EMU_LOCKED;
    return emu_told(emu_stream_of(to) && emu_stream_of(from) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
    EMU_LOCKED;
    if (!function) return emu_told(cudaErrorInvalidValue);
    return emu_told(emu_enqueue(stream, &(emu_action){.kind = EMU_CALL, .call = {function, argument}}));
}

typedef struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *argument;
} callback;

static void call_back(void *argument) {
    callback *c = argument;
    c->function(c->stream, cudaSuccess, c->argument);
    free(c);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *argument, unsigned flags) {
    EMU_LOCKED;
    if (!function || flags) return emu_told(cudaErrorInvalidValue);
    callback *c = emu_alloc(sizeof *c);
    *c = (callback){.function = function, .stream = stream, .argument = argument};
    return cudaLaunchHostFunc(stream, call_back, c);
}
