/* Copies and fills. A copy from pageable memory takes the bytes when it is asked for; one to pageable memory waits. */
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "runtime/runtime.h"

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/* Bytes from the first to the last of a box. */
static size_t span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

typedef enum side { ANY, DEVICE } side;

/* Does the range lie within one allocation, or is it host memory that the emulator does not know? As with the driver,
 * device memory may stand where host memory is asked for, not the other way round. */
static bool is_within(const void *pointer, size_t bytes, side wanted) {
    if (!pointer) return false;
    const emu_allocation *a = emu_memory_find(pointer);
    if (!a) return wanted != DEVICE;
    return (size_t)((const uint8_t *)pointer - a->memory) + bytes <= a->bytes;
}

static const struct {
    side to, from;
} sides[] = {[cudaMemcpyHostToHost] = {ANY, ANY},
             [cudaMemcpyHostToDevice] = {DEVICE, ANY},
             [cudaMemcpyDeviceToHost] = {ANY, DEVICE},
             [cudaMemcpyDeviceToDevice] = {DEVICE, DEVICE},
             [cudaMemcpyDefault] = {ANY, ANY}};

static cudaError_t check_copy(const emu_copy_box *c, enum cudaMemcpyKind kind) {
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (c->height > 1 && (c->width > c->to_pitch || c->width > c->from_pitch)) return cudaErrorInvalidPitchValue;
    bool to = is_within(c->to, span(c->width, c->height, c->depth, c->to_pitch, c->to_slice), sides[kind].to);
    bool from = is_within(c->from, span(c->width, c->height, c->depth, c->from_pitch, c->from_slice), sides[kind].from);
    return to && from ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

static void stage(emu_copy_box *c) {
    c->staged = emu_alloc(c->width * c->height * c->depth);
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(c->staged + (z * c->height + y) * c->width, c->from + z * c->from_slice + y * c->from_pitch,
                   c->width);
    c->from = c->staged;
    c->from_pitch = c->width;
    c->from_slice = c->width * c->height;
}

static cudaError_t copy(emu_copy_box box, enum cudaMemcpyKind kind, cudaStream_t handle, bool wait) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (box.width == 0 || box.height == 0 || box.depth == 0)
        return emu_told(wait ? emu_stream_wait(stream) : cudaSuccess);
    cudaError_t error = check_copy(&box, kind);
    if (error != cudaSuccess) return emu_told(error);
    if (!stream->capture) {
        wait |= !emu_memory_find(box.to);
        if (!wait && !emu_memory_find(box.from)) stage(&box);
    }
    error = emu_enqueue(stream, &(emu_action){.kind = EMU_COPY, .copy = box});
    return emu_told(error == cudaSuccess && wait ? emu_stream_wait(stream) : error);
}

static emu_copy_box line(void *to, const void *from, size_t bytes) {
    return (emu_copy_box){.to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    return copy(line(to, from, bytes), kind, NULL, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy(line(to, from, bytes), kind, stream, false);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    if (to_device || from_device) return emu_told(cudaErrorInvalidDevice);
    return copy(line(to, from, bytes), cudaMemcpyDeviceToDevice, NULL, true);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream) {
    if (to_device || from_device) return emu_told(cudaErrorInvalidDevice);
    return copy(line(to, from, bytes), cudaMemcpyDeviceToDevice, stream, false);
}

static emu_copy_box rectangle(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height) {
    return (emu_copy_box){.to = to,
                          .from = from,
                          .width = width,
                          .height = height,
                          .depth = 1,
                          .to_pitch = to_pitch,
                          .from_pitch = from_pitch};
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    return copy(rectangle(to, to_pitch, from, from_pitch, width, height), kind, NULL, true);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy(rectangle(to, to_pitch, from, from_pitch, width, height), kind, stream, false);
}

static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool wait) {
    if (p->srcArray || p->dstArray) return emu_told(cudaErrorNotSupported);
    const struct cudaPitchedPtr *to = &p->dstPtr, *from = &p->srcPtr;
    emu_copy_box box = {.width = p->extent.width,
                        .height = p->extent.height,
                        .depth = p->extent.depth,
                        .to_pitch = to->pitch,
                        .to_slice = to->pitch * to->ysize,
                        .from_pitch = from->pitch,
                        .from_slice = from->pitch * from->ysize};
    box.to = (uint8_t *)to->ptr + p->dstPos.x + p->dstPos.y * to->pitch + p->dstPos.z * box.to_slice;
    box.from = (const uint8_t *)from->ptr + p->srcPos.x + p->srcPos.y * from->pitch + p->srcPos.z * box.from_slice;
    return copy(box, p->kind, stream, wait);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { return copy_box(p, NULL, true); }
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    return copy_box(p, stream, false);
}

/* ---- symbols --------------------------------------------------------------------------------------------------- */

cudaError_t cudaGetSymbolAddress(void **memory, const void *symbol) {
    EMU_LOCKED;
    size_t bytes = 0;
    return emu_told(emu_symbol_find(symbol, memory, &bytes));
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol) {
    EMU_LOCKED;
    void *memory = NULL;
    return emu_told(emu_symbol_find(symbol, &memory, bytes));
}

static cudaError_t find_in_symbol(const void *symbol, size_t offset, size_t count, uint8_t **out) {
    EMU_LOCKED;
    void *memory = NULL;
    size_t bytes = 0;
    cudaError_t error = emu_symbol_find(symbol, &memory, &bytes);
    if (error != cudaSuccess) return emu_told(error);
    if (offset > bytes || count > bytes - offset) return emu_told(cudaErrorInvalidValue);
    *out = (uint8_t *)memory + offset;
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                             enum cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    uint8_t *memory = NULL;
    cudaError_t error = find_in_symbol(symbol, offset, bytes, &memory);
    return error == cudaSuccess ? copy(line(memory, from, bytes), kind, stream, wait) : error;
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                               cudaStream_t stream, bool wait) {
    uint8_t *memory = NULL;
    cudaError_t error = find_in_symbol(symbol, offset, bytes, &memory);
    return error == cudaSuccess ? copy(line(to, memory, bytes), kind, stream, wait) : error;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
    return to_symbol(symbol, from, bytes, offset, kind, NULL, true);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    return to_symbol(symbol, from, bytes, offset, kind, stream, false);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
    return from_symbol(to, symbol, bytes, offset, kind, NULL, true);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    return from_symbol(to, symbol, bytes, offset, kind, stream, false);
}

/* ---- fills ----------------------------------------------------------------------------------------------------- */

static cudaError_t fill(emu_set_box box, cudaStream_t handle, bool wait) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (box.width == 0 || box.height == 0 || box.depth == 0) return cudaSuccess;
    if (!is_within(box.to, span(box.width, box.height, box.depth, box.pitch, box.slice), DEVICE))
        return emu_told(cudaErrorInvalidValue);
    cudaError_t error = emu_enqueue(stream, &(emu_action){.kind = EMU_SET, .set = box});
    return emu_told(error == cudaSuccess && wait ? emu_stream_wait(stream) : error);
}

static emu_set_box bytes_of(void *to, int value, size_t width, size_t height, size_t pitch) {
    return (emu_set_box){.to = to,
                         .value = (uint32_t)value & 0xff,
                         .element = 1,
                         .width = width,
                         .height = height,
                         .depth = 1,
                         .pitch = pitch};
}

/* As on the device, a fill of device memory does not wait. */
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
    return fill(bytes_of(to, value, bytes, 1, 0), NULL, false);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    return fill(bytes_of(to, value, bytes, 1, 0), stream, false);
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return fill(bytes_of(to, value, width, height, pitch), NULL, false);
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return fill(bytes_of(to, value, width, height, pitch), stream, false);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream) {
    emu_set_box box = bytes_of(to.ptr, value, extent.width, extent.height, to.pitch);
    box.depth = extent.depth;
    box.slice = to.pitch * to.ysize;
    return fill(box, stream, false);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    return cudaMemset3DAsync(to, value, extent, NULL);
}
