/* Capture: what is enqueued on a stream becomes a graph's nodes. */
#include "runtime/graph.h"

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          const cudaGraphEdgeData *edges, size_t n, enum cudaStreamCaptureMode mode) {
    EMU_LOCKED;
    (void)edges;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream || !graph) return emu_told(cudaErrorInvalidResourceHandle);
    if (stream == emu_stream_of(cudaStreamLegacy)) return emu_told(cudaErrorStreamCaptureUnsupported);
    if (stream->capture) return emu_told(cudaErrorIllegalState);
    stream->capture = graph;
    graph->capturing = true;
    stream->captures_first = true;
    stream->mode = mode;
    stream->captured_by = emu_this_thread();
    stream->last_captured = NULL;
    stream->captured.n = 0;
    for (size_t i = 0; i < n; i++) emu_list_add(&stream->captured, after[i]);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    EMU_LOCKED;
    cudaGraph_t graph = emu_graph_new();
    cudaError_t error = cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode);
    if (error != cudaSuccess) emu_graph_free(graph);
    return error;
}

/* All that other streams captured must have been joined: nodes that nothing comes after are in the tail of this one. */
static bool joined(cudaStream_t stream) {
    const emu_list *nodes = &stream->capture->nodes, *tail = &stream->captured;
    for (int i = 0; i < nodes->n; i++) {
        bool followed = false;
        for (int k = 0; k < tail->n && !followed; k++) followed = tail->item[k] == nodes->item[i];
        for (int k = i + 1; k < nodes->n && !followed; k++) {
            const struct CUgraphNode_st *later = nodes->item[k];
            for (int e = 0; e < later->n_edges && !followed; e++) followed = later->edge[e].from == nodes->item[i];
        }
        if (!followed) return false;
    }
    return true;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    *out = NULL;
    if (!stream || !stream->capture) return emu_told(cudaErrorIllegalState);
    if (!stream->captures_first) return emu_told(cudaErrorStreamCaptureUnmatched);
    cudaGraph_t graph = stream->capture;
    cudaError_t error = graph->invalid   ? cudaErrorStreamCaptureInvalidated
                        : joined(stream) ? cudaSuccess
                                         : cudaErrorStreamCaptureUnjoined;
    for (cudaStream_t s = emu_streams(); s; s = s->next) {
        if (s->capture != graph) continue;
        s->capture = NULL;
        s->captures_first = false;
        s->last_captured = NULL;
        s->captured.n = 0;
    }
    graph->capturing = false;
    if (error != cudaSuccess)
        emu_graph_free(graph);
    else
        *out = graph;
    return emu_told(error);
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream) {
    if (!stream->capture) return cudaStreamCaptureStatusNone;
    return stream->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    *status = status_of(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **tail, const cudaGraphEdgeData **edges,
                                     size_t *n) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return emu_told(cudaErrorInvalidResourceHandle);
    *status = status_of(stream);
    if (!stream->capture) return cudaSuccess;
    if (id) *id = stream->capture->id;
    if (graph) *graph = stream->capture;
    if (tail) *tail = (const cudaGraphNode_t *)stream->captured.item;
    if (edges) *edges = NULL;
    if (n) *n = (size_t)stream->captured.n;
    return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *edges, size_t n, unsigned flags) {
    EMU_LOCKED;
    (void)edges;
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream || !stream->capture) return emu_told(cudaErrorIllegalState);
    if (flags == cudaStreamSetCaptureDependencies) stream->captured.n = 0;
    for (size_t i = 0; i < n; i++) emu_list_add(&stream->captured, nodes[i]);
    stream->last_captured = NULL;
    return cudaSuccess;
}

static _Thread_local enum cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

enum cudaStreamCaptureMode emu_capture_mode(void) { return mode_of_thread; }
const void *emu_this_thread(void) { return &mode_of_thread; }

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
    enum cudaStreamCaptureMode previous = mode_of_thread;
    mode_of_thread = *mode;
    *mode = previous;
    return cudaSuccess;
}
