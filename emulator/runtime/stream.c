/* Streams: what is enqueued comes after what was, and the legacy stream's after all blocking streams'. */
#include <stdlib.h>

#include "check/witness.h"
#include "runtime/graph.h"

static struct CUstream_st legacy = {.id = 1};
static _Thread_local struct CUstream_st *of_thread;
static struct CUstream_st *streams; /* all but the legacy one */
static unsigned long long next_id = 2;

void emu_list_add(emu_list *list, void *item) {
    list->item = emu_grow(list->item, (size_t)list->n + 1, sizeof *list->item);
    list->item[list->n++] = item;
}

static cudaStream_t new_stream(unsigned flags, int priority) {
    cudaStream_t stream = emu_alloc(sizeof *stream);
    *stream = (struct CUstream_st){.next = streams, .flags = flags, .priority = priority, .id = next_id++};
    return streams = stream;
}

cudaStream_t emu_stream_of(cudaStream_t stream) {
    if (stream == NULL || stream == cudaStreamLegacy || stream == &legacy) return &legacy;
    if (stream == cudaStreamPerThread) {
        if (!of_thread) of_thread = new_stream(cudaStreamDefault, 0);
        return of_thread;
    }
    for (cudaStream_t s = streams; s; s = s->next)
        if (s == stream) return s;
    return NULL;
}

static bool forbids(cudaStream_t s) {
    if (!s->capture || s->mode == cudaStreamCaptureModeRelaxed || emu_capture_mode() == cudaStreamCaptureModeRelaxed)
        return false;
    return s->captured_by == emu_this_thread() ||
           (s->mode == cudaStreamCaptureModeGlobal && emu_capture_mode() == cudaStreamCaptureModeGlobal);
}

bool emu_capturing(void) {
    bool any = false;
    for (cudaStream_t s = streams; s; s = s->next) any |= forbids(s);
    return any;
}

bool emu_unsafe_in_capture(void) {
    bool any = false;
    for (cudaStream_t s = streams; s; s = s->next) {
        if (!forbids(s)) continue;
        any = true;
        s->capture->invalid = true;
    }
    return any;
}

/* ---- enqueueing ------------------------------------------------------------------------------------------------ */

static void clear_tail(cudaStream_t stream) {
    for (int i = 0; i < stream->tail.n; i++) emu_work_release(stream->tail.item[i]);
    stream->tail.n = 0;
    stream->last_launch = NULL;
}

static void come_after_tail(emu_work *work, cudaStream_t stream) {
    for (int i = 0; i < stream->tail.n; i++) emu_work_after(work, stream->tail.item[i], false);
}

static bool is_blocking(cudaStream_t stream) { return !(stream->flags & cudaStreamNonBlocking); }

static void come_after_others(emu_work *work, cudaStream_t stream) {
    if (stream != &legacy) {
        if (is_blocking(stream)) come_after_tail(work, &legacy);
        return;
    }
    for (cudaStream_t s = streams; s; s = s->next)
        if (is_blocking(s)) come_after_tail(work, s);
}

/* Takes over the reference. */
static void put_work(cudaStream_t stream, emu_work *work, bool programmatic) {
    if (programmatic) {
        emu_work_after(work, stream->last_launch, true);
    } else {
        come_after_tail(work, stream);
        clear_tail(stream);
    }
    come_after_others(work, stream);
    emu_list_add(&stream->tail, work);
    stream->last_launch = work->action.kind == EMU_LAUNCH ? work : NULL;
    emu_work_submit(work);
}

void emu_stream_put(cudaStream_t stream, emu_work *work) { put_work(stream, work, false); }
cudaStream_t emu_streams(void) { return streams; }

static void capture(cudaStream_t stream, const emu_action *action) {
    static const enum cudaGraphNodeType types[] = {
        [EMU_JOIN] = cudaGraphNodeTypeEmpty,  [EMU_LAUNCH] = cudaGraphNodeTypeKernel,
        [EMU_COPY] = cudaGraphNodeTypeMemcpy, [EMU_SET] = cudaGraphNodeTypeMemset,
        [EMU_CALL] = cudaGraphNodeTypeHost,   [EMU_FREE] = cudaGraphNodeTypeMemFree};
    bool launch = action->kind == EMU_LAUNCH;
    bool programmatic = launch && action->launch.programmatic && stream->last_captured;
    cudaGraphNode_t node =
        emu_graph_add(stream->capture, types[action->kind], action, programmatic ? NULL : &stream->captured);
    if (programmatic) {
        emu_graph_edge(node, stream->last_captured, true);
    } else {
        stream->captured.n = 0;
    }
    emu_list_add(&stream->captured, node);
    stream->last_captured = launch ? node : NULL;
}

/* The legacy stream would have to wait for a stream that is captured. */
static bool captures_blocking(void) {
    bool any = false;
    for (cudaStream_t s = streams; s; s = s->next) {
        if (!s->capture || !is_blocking(s)) continue;
        any = true;
        s->capture->invalid = true;
    }
    return any;
}

cudaError_t emu_enqueue(cudaStream_t handle, const emu_action *action) {
    cudaStream_t stream = emu_stream_of(handle);
    cudaError_t error = cudaSuccess;
    if (!stream) error = cudaErrorInvalidResourceHandle;
    if (stream == &legacy && captures_blocking()) error = cudaErrorStreamCaptureImplicit;
    if (error != cudaSuccess) {
        emu_action unused = *action;
        emu_action_clear(&unused);
        return error;
    }
    if (stream->capture) {
        capture(stream, action);
        return cudaSuccess;
    }
    bool programmatic = action->kind == EMU_LAUNCH && action->launch.programmatic && stream->last_launch;
    emu_witness_enqueued(action->kind == EMU_CALL ? NULL : stream);
    put_work(stream, emu_work_new(action), programmatic);
    return cudaSuccess;
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static void wait_for_tail(cudaStream_t stream) {
    for (int i = 0; i < stream->tail.n; i++) {
        emu_work *work = stream->tail.item[i];
        emu_work_wait(work);
        emu_check_host_waited(work->clock);
    }
}

cudaError_t emu_stream_wait(cudaStream_t handle) {
    cudaStream_t stream = emu_stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
        stream->capture->invalid = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    wait_for_tail(stream);
    for (cudaStream_t s = streams; s && stream == &legacy; s = s->next)
        if (is_blocking(s)) wait_for_tail(s);
    return emu_take_failure();
}

cudaError_t emu_device_wait(void) {
    if (emu_unsafe_in_capture()) return cudaErrorStreamCaptureUnsupported;
    wait_for_tail(&legacy);
    for (cudaStream_t s = streams; s; s = s->next) wait_for_tail(s);
    emu_work_wait(NULL);
    return emu_take_failure();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    EMU_LOCKED;
    return emu_told(emu_stream_wait(stream));
}

cudaError_t cudaDeviceSynchronize(void) {
    EMU_LOCKED;
    return emu_told(emu_device_wait());
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    EMU_LOCKED;
    if (!stream || flags & ~(unsigned)cudaStreamNonBlocking) return emu_told(cudaErrorInvalidValue);
    *stream = new_stream(flags, priority);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

/* Work that is enqueued is still done. */
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    EMU_LOCKED;
    struct CUstream_st **at = &streams;
    while (*at && *at != stream) at = &(*at)->next;
    if (!*at || stream == of_thread) return emu_told(cudaErrorInvalidResourceHandle);
    *at = stream->next;
    clear_tail(stream);
    free(stream->tail.item);
    free(stream->captured.item);
    free(stream);
    return cudaSuccess;
}

/* The emulator does not run while the host does: who asks whether the work is done lets it be done. */
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
