/* The GPU functions in a build without CUDA. ridge_cuda_open fails with the reason, so the others are never called. */
#include "device/cuda.h"

#include "core/cuda.h"

#ifndef RIDGE_HAVE_CUDA

static ridge_status absent(ridge_error *error) {
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%s", ridge_cuda_absent());
}

ridge_status ridge_cuda_open(ridge_gpu *gpu, ridge_error *error) {
    *gpu = (ridge_gpu){.sm = 0};
    return absent(error);
}
void ridge_cuda_reset_l2(void) {}
ridge_status ridge_cuda_enter(int device, int *previous, int *sm, int *sm_count, ridge_error *error) {
    *previous = device;
    *sm = *sm_count = 0;
    return absent(error);
}
void ridge_cuda_leave(int previous) { (void)previous; }
bool ridge_cuda_lost(void) { return false; }
ridge_status ridge_cuda_alloc(size_t bytes, void **memory, ridge_error *error) {
    (void)bytes;
    *memory = NULL;
    return absent(error);
}
void ridge_cuda_free(void *memory) { (void)memory; }
bool ridge_cuda_captures(void *stream) {
    (void)stream;
    return false;
}
ridge_status ridge_cuda_copy(void *to, const void *from, size_t bytes, ridge_error *error) {
    (void)to, (void)from, (void)bytes;
    return absent(error);
}
ridge_status ridge_cuda_set(void *memory, int byte, size_t bytes, ridge_error *error) {
    (void)memory, (void)byte, (void)bytes;
    return absent(error);
}
ridge_status ridge_cuda_alloc_pinned(size_t bytes, void **memory, ridge_error *error) {
    (void)bytes;
    *memory = NULL;
    return absent(error);
}
void ridge_cuda_free_pinned(void *memory) { (void)memory; }
ridge_status ridge_cuda_alloc_managed(size_t bytes, void **memory, ridge_error *error) {
    (void)bytes;
    *memory = NULL;
    return absent(error);
}
ridge_status ridge_stream_create(int events, ridge_stream **stream, ridge_error *error) {
    (void)events;
    *stream = NULL;
    return absent(error);
}
void ridge_stream_destroy(ridge_stream *stream) { (void)stream; }
void *ridge_stream_handle(ridge_stream *stream) { return stream; }
ridge_status ridge_stream_record(ridge_stream *stream, int event, ridge_error *error) {
    (void)stream, (void)event;
    return absent(error);
}
ridge_status ridge_stream_wait(ridge_stream *stream, ridge_error *error) {
    (void)stream;
    return absent(error);
}
ridge_status ridge_stream_elapsed(ridge_stream *stream, int from, int to, double *us, ridge_error *error) {
    (void)stream, (void)from, (void)to;
    *us = 0;
    return absent(error);
}
ridge_status ridge_graph_begin(ridge_stream *stream, ridge_error *error) {
    (void)stream;
    return absent(error);
}
ridge_status ridge_graph_end(ridge_stream *stream, ridge_graph **graph, ridge_error *error) {
    (void)stream;
    *graph = NULL;
    return absent(error);
}
ridge_status ridge_graph_launch(ridge_graph *graph, ridge_stream *stream, ridge_error *error) {
    (void)graph, (void)stream;
    return absent(error);
}
void ridge_graph_destroy(ridge_graph *graph) { (void)graph; }
ridge_status ridge_graph_kernels(const ridge_graph *graph, ridge_gpu_kernel_fn each, void *context,
                                 ridge_error *error) {
    (void)graph, (void)each, (void)context;
    return absent(error);
}
ridge_status ridge_stream_empty(ridge_stream *stream, ridge_error *error) {
    (void)stream;
    return absent(error);
}
ridge_status ridge_stream_delay(ridge_stream *stream, double us, ridge_error *error) {
    (void)stream, (void)us;
    return absent(error);
}
void ridge_cuda_profile(bool on) { (void)on; }
ridge_status ridge_cuda_check(bool *sticky, ridge_error *error) {
    *sticky = false;
    return absent(error);
}

#endif
