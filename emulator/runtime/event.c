/* Events: the work after which they come. Their times are of the host's clock and say nothing of a device. */
#include <stdlib.h>
#include <time.h>

#include "runtime/graph.h"

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    EMU_LOCKED;
    if (!event) return emu_told(cudaErrorInvalidValue);
    *event = emu_alloc(sizeof **event);
    (*event)->flags = flags;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

void emu_event_set(cudaEvent_t event, emu_work *work) {
    work->references++;
    emu_work_release(event->work);
    event->work = work;
    event->graph = NULL;
}

static void capture_event(cudaEvent_t event, cudaStream_t stream) {
    event->graph = stream->capture;
    event->nodes.n = 0;
    for (int i = 0; i < stream->captured.n; i++) emu_list_add(&event->nodes, stream->captured.item[i]);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!event || !stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (stream->capture && (flags & cudaEventRecordExternal) == 0) {
        capture_event(event, stream);
        return cudaSuccess;
    }
    if (stream->capture) {
        cudaGraphNode_t node = emu_graph_add(stream->capture, cudaGraphNodeTypeEventRecord, NULL, &stream->captured);
        node->event = event;
        stream->captured.n = 0;
        emu_list_add(&stream->captured, node);
        return cudaSuccess;
    }
    emu_action nothing = {.kind = EMU_JOIN};
    emu_work *work = emu_work_new(&nothing);
    emu_event_set(event, work);
    emu_stream_put(stream, work);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

/* A stream that waits for a captured event takes part in the capture. */
static cudaError_t join_capture(cudaStream_t stream, cudaEvent_t event) {
    if (stream->capture && stream->capture != event->graph) return cudaErrorStreamCaptureMerge;
    stream->capture = event->graph;
    for (cudaStream_t s = emu_streams(); s; s = s->next) {
        if (s->capture != event->graph || !s->captures_first) continue;
        stream->mode = s->mode;
        stream->captured_by = s->captured_by;
    }
    for (int i = 0; i < event->nodes.n; i++) {
        int k = 0;
        while (k < stream->captured.n && stream->captured.item[k] != event->nodes.item[i]) k++;
        if (k == stream->captured.n) emu_list_add(&stream->captured, event->nodes.item[i]);
    }
    stream->last_captured = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!event || !stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (event->graph) return emu_told(join_capture(stream, event));
    if (stream->capture && !(flags & cudaEventWaitExternal)) return emu_told(cudaErrorStreamCaptureIsolation);
    if (!event->work || stream->capture) return cudaSuccess;
    emu_action nothing = {.kind = EMU_JOIN};
    emu_work *work = emu_work_new(&nothing);
    emu_work_after(work, event->work, false);
    emu_stream_put(stream, work);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    EMU_LOCKED;
    if (!event) return emu_told(cudaErrorInvalidResourceHandle);
    if (event->graph) return emu_told(cudaErrorCapturedEvent);
    if (!event->work) return cudaSuccess;
    emu_work_wait(event->work);
    emu_check_host_waited(event->work->clock);
    return emu_told(emu_take_failure());
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    EMU_LOCKED;
    if (!from || !to || !from->work || !to->work) return emu_told(cudaErrorInvalidResourceHandle);
    if ((from->flags | to->flags) & cudaEventDisableTiming) return emu_told(cudaErrorInvalidResourceHandle);
    if (!from->work->done || !to->work->done) return cudaErrorNotReady;
    *ms = (float)(1e3 * (to->work->ended - from->work->ended));
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    EMU_LOCKED;
    if (!event) return emu_told(cudaErrorInvalidResourceHandle);
    emu_work_release(event->work);
    free(event->nodes.item);
    free(event);
    return cudaSuccess;
}
