/* The functions under the names that they have when a program is compiled with --default-stream per-thread: there NULL
 * means the stream of the calling thread. */
#include "runtime/registration.h"

#include "runtime/runtime.h"

static cudaStream_t own(cudaStream_t stream) { return stream ? stream : cudaStreamPerThread; }

static cudaError_t then_wait(cudaError_t error) {
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

/* Asynchronous ones: the declaration, and the arguments with the stream replaced. */
#define OWN(name, declaration, ...)       \
    cudaError_t name##_ptsz declaration;  \
    cudaError_t name##_ptsz declaration { \
        stream = own(stream);             \
        return name(__VA_ARGS__);         \
    }
/* Synchronous ones, by those. */
#define NOW(name, declaration, call)     \
    cudaError_t name##_ptds declaration; \
    cudaError_t name##_ptds declaration { return call; }

typedef enum cudaMemcpyKind kind_t;
typedef struct cudaPitchedPtr pitched;
typedef struct cudaExtent extent_t;
typedef struct cudaMemcpy3DParms parms;
typedef struct cudaMemLocation location;
typedef enum cudaStreamCaptureStatus status_t;

OWN(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event, stream)
OWN(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags), event, stream, flags)
OWN(cudaMallocAsync, (void **memory, size_t bytes, cudaStream_t stream), memory, bytes, stream)
OWN(cudaMallocFromPoolAsync, (void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), memory, bytes,
    pool, stream)
OWN(cudaFreeAsync, (void *memory, cudaStream_t stream), memory, stream)
OWN(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), exec, stream)
OWN(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), exec, stream)
OWN(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *argument), stream, function, argument)
OWN(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t function, void *argument, unsigned flags), stream,
    function, argument, flags)
OWN(cudaLaunchKernel,
    (const void *function, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream), function,
    blocks, threads, arguments, shared, stream)
OWN(cudaLaunchCooperativeKernel,
    (const void *function, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream), function,
    blocks, threads, arguments, shared, stream)
OWN(__cudaLaunchKernel,
    (cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream), kernel,
    blocks, threads, arguments, shared, stream)
OWN(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, kind_t kind, cudaStream_t stream), to, from, bytes,
    kind, stream)
OWN(cudaMemcpy2DAsync,
    (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, kind_t kind,
     cudaStream_t stream),
    to, to_pitch, from, from_pitch, width, height, kind, stream)
OWN(cudaMemcpy3DAsync, (const parms *p, cudaStream_t stream), p, stream)
OWN(cudaMemcpyToSymbolAsync,
    (const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind, cudaStream_t stream), symbol, from,
    bytes, offset, kind, stream)
OWN(cudaMemcpyFromSymbolAsync,
    (void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind, cudaStream_t stream), to, symbol, bytes,
    offset, kind, stream)
OWN(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream), to, value, bytes, stream)
OWN(cudaMemset2DAsync, (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream), to, pitch,
    value, width, height, stream)
OWN(cudaMemset3DAsync, (pitched to, int value, extent_t extent, cudaStream_t stream), to, value, extent, stream)
OWN(cudaMemPrefetchAsync, (const void *memory, size_t bytes, location where, unsigned flags, cudaStream_t stream),
    memory, bytes, where, flags, stream)
OWN(cudaStreamAttachMemAsync, (cudaStream_t stream, void *memory, size_t bytes, unsigned flags), stream, memory, bytes,
    flags)
OWN(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode), stream, mode)
OWN(cudaStreamBeginCaptureToGraph,
    (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *edges, size_t n,
     enum cudaStreamCaptureMode mode),
    stream, graph, after, edges, n, mode)
OWN(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), stream, graph)
OWN(cudaStreamIsCapturing, (cudaStream_t stream, status_t *status), stream, status)
OWN(cudaStreamGetCaptureInfo,
    (cudaStream_t stream, status_t *status, unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
     const cudaGraphEdgeData **edges, size_t *n),
    stream, status, id, graph, nodes, edges, n)
OWN(cudaStreamUpdateCaptureDependencies,
    (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t n, unsigned flags), stream,
    nodes, edges, n, flags)
OWN(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), stream, flags)
OWN(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), stream, id)
OWN(cudaStreamGetDevice, (cudaStream_t stream, int *device), stream, device)
OWN(cudaStreamGetPriority, (cudaStream_t stream, int *priority), stream, priority)
OWN(cudaStreamGetAttribute, (cudaStream_t stream, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value), stream,
    id, value)
OWN(cudaStreamSetAttribute, (cudaStream_t stream, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value),
    stream, id, value)
OWN(cudaStreamQuery, (cudaStream_t stream), stream)
OWN(cudaStreamSynchronize, (cudaStream_t stream), stream)
OWN(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), stream, event, flags)

NOW(cudaMemcpy, (void *to, const void *from, size_t bytes, kind_t kind),
    then_wait(cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread)))
NOW(cudaMemcpy2D,
    (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, kind_t kind),
    then_wait(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, cudaStreamPerThread)))
NOW(cudaMemcpy3D, (const parms *p), then_wait(cudaMemcpy3DAsync(p, cudaStreamPerThread)))
NOW(cudaMemcpyToSymbol, (const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind),
    then_wait(cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, cudaStreamPerThread)))
NOW(cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind),
    then_wait(cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, cudaStreamPerThread)))
NOW(cudaMemset, (void *to, int value, size_t bytes), cudaMemsetAsync(to, value, bytes, cudaStreamPerThread))
NOW(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
    cudaMemset2DAsync(to, pitch, value, width, height, cudaStreamPerThread))
NOW(cudaMemset3D, (pitched to, int value, extent_t extent), cudaMemset3DAsync(to, value, extent, cudaStreamPerThread))

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    cudaLaunchConfig_t changed = *config;
    changed.stream = own(config->stream);
    return cudaLaunchKernelExC(&changed, function, arguments);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned version,
                                                  unsigned long long flags,
                                                  enum cudaDriverEntryPointQueryResult *result);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned version,
                                                  unsigned long long flags,
                                                  enum cudaDriverEntryPointQueryResult *result) {
    return cudaGetDriverEntryPointByVersion(name, function, version, flags, result);
}
