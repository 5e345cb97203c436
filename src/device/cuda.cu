/* The GPU as a device, through the CUDA runtime. */
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ridge/cuda.h"

extern "C" {
#include "device/cuda.h"
}

struct ridge_stream {
    cudaStream_t stream;
    cudaEvent_t *events;
    int n;
};

struct ridge_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

/* Writes one line that names the call: "cudaMalloc: out of memory (cudaErrorMemoryAllocation)". */
static ridge_status told(cudaError_t result, const char *call, ridge_error *error) {
    if (result == cudaSuccess) return RIDGE_OK;
    (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
    ridge_status status = result == cudaErrorMemoryAllocation ? RIDGE_NO_MEMORY : RIDGE_FAILED;
    return ridge_fail(error, status, "%s: %s (%s)", call, cudaGetErrorString(result), cudaGetErrorName(result));
}
#define TELL(name, arguments) told(name arguments, #name, error)

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static int attribute(cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

static ridge_status describe(ridge_gpu *gpu, ridge_error *error) {
    cudaDeviceProp p;
    size_t free_bytes = 0, all = 0;
    RIDGE_TRY(TELL(cudaGetDeviceProperties, (&p, 0)));
    RIDGE_TRY(TELL(cudaMemGetInfo, (&free_bytes, &all)));
    *gpu = ridge_gpu{};
    (void)snprintf(gpu->name, sizeof gpu->name, "%.95s", p.name);
    RIDGE_TRY(TELL(cudaDeviceGetPCIBusId, (gpu->bus, (int)sizeof gpu->bus, 0)));
    gpu->sm = 10 * p.major + p.minor;
    gpu->sm_count = p.multiProcessorCount;
    gpu->memory_bytes = (int64_t)p.totalGlobalMem;
    gpu->free_bytes = (int64_t)free_bytes;
    gpu->l2_bytes = p.l2CacheSize;
    gpu->shared_bytes = (int)p.sharedMemPerBlockOptin;
    gpu->registers = p.regsPerMultiprocessor;
    gpu->sm_clock_mhz = attribute(cudaDevAttrClockRate) / 1000;
    gpu->memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate) / 1000;
    gpu->memory_bus_bits = p.memoryBusWidth;
    gpu->managed = p.concurrentManagedAccess != 0;
    gpu->emulated = ridge_cuda_emulated();
    (void)cudaDriverGetVersion(&gpu->driver);
    (void)cudaRuntimeGetVersion(&gpu->runtime);
    return RIDGE_OK;
}

extern "C" ridge_status ridge_cuda_open(ridge_gpu *gpu, ridge_error *error) {
    int devices = 0;
    cudaError_t found = cudaGetDeviceCount(&devices);
    if (found == cudaErrorInsufficientDriver) {
        int driver = 0;
        (void)cudaDriverGetVersion(&driver);
        if (driver == 0) return ridge_fail(error, RIDGE_UNSUPPORTED, "no NVIDIA driver is installed");
        return ridge_fail(error, RIDGE_UNSUPPORTED, "the NVIDIA driver is older than CUDA %d.%d needs",
                          CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    if (found == cudaErrorNoDevice || (found == cudaSuccess && devices == 0))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "there is no NVIDIA GPU");
    if (found != cudaSuccess)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "the GPU cannot be used: %s", cudaGetErrorString(found));
    RIDGE_TRY(TELL(cudaSetDevice, (0)));
    return describe(gpu, error);
}

extern "C" void ridge_cuda_reset_l2(void) {
    (void)cudaCtxResetPersistingL2Cache(); /* not supported on all devices */
    (void)cudaGetLastError();
}

/* ---- in a caller's process --------------------------------------------------------------------------------------- */

/* entered: this process entered a device. inherited: an ancestor did before fork(). The child inherits the runtime's
 * state, with which most CUDA calls crash or hang. */
static std::atomic<bool> entered, inherited;

static void lose_devices(void) {
    if (entered) inherited = true;
}
static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, lose_devices); }

extern "C" bool ridge_cuda_lost(void) { return inherited; }

/* As told(), for the first CUDA calls of a process. They fail in a child whose ancestor used the GPU without ridge. */
static ridge_status begun(cudaError_t result, const char *call, ridge_error *error) {
    if (result != cudaErrorInitializationError) return told(result, call, error);
    return ridge_fail(error, RIDGE_UNSUPPORTED,
                      "%s: %s: the driver is broken, or this process was forked from one that used the GPU: start it "
                      "anew (in Python, multiprocessing's \"spawn\")",
                      call, cudaGetErrorString(result));
}
#define BEGUN(name, arguments) begun(name arguments, #name, error)

static ridge_status capability(int device, int *sm, int *sm_count, ridge_error *error) {
    int major = 0, minor = 0;
    RIDGE_TRY(BEGUN(cudaDeviceGetAttribute, (&major, cudaDevAttrComputeCapabilityMajor, device)));
    RIDGE_TRY(BEGUN(cudaDeviceGetAttribute, (&minor, cudaDevAttrComputeCapabilityMinor, device)));
    RIDGE_TRY(BEGUN(cudaDeviceGetAttribute, (sm_count, cudaDevAttrMultiProcessorCount, device)));
    *sm = 10 * major + minor;
    return RIDGE_OK;
}

static ridge_status make_current(int device, int previous, ridge_error *error) {
    const ridge_status status = device == previous ? RIDGE_OK : BEGUN(cudaSetDevice, (device));
    if (status != RIDGE_OK) (void)cudaSetDevice(previous);
    return status;
}

extern "C" ridge_status ridge_cuda_enter(int device, int *previous, int *sm, int *sm_count, ridge_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *previous = -1;
    *sm = *sm_count = 0;
    if (inherited)
        return ridge_fail(
            error, RIDGE_UNSUPPORTED,
            "the GPU cannot be used in a forked child of a process that used it: start the child anew (in "
            "Python, multiprocessing's \"spawn\")");
    RIDGE_TRY(BEGUN(cudaGetDevice, (previous)));
    if (!entered) {
        (void)pthread_once(&once, watch_forks);
        entered = true;
    }
    RIDGE_TRY(capability(device, sm, sm_count, error)); /* fails for an unknown device before anything has changed */
    return make_current(device, *previous, error);
}

extern "C" void ridge_cuda_leave(int previous) {
    int device = -1;
    if (previous >= 0 && cudaGetDevice(&device) == cudaSuccess && device != previous) (void)cudaSetDevice(previous);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

extern "C" ridge_status ridge_cuda_alloc(size_t bytes, void **memory, ridge_error *error) {
    *memory = NULL;
    if (cudaMalloc(memory, bytes ? bytes : 1) == cudaSuccess) return RIDGE_OK;
    (void)cudaGetLastError();
    size_t free_bytes = 0, all = 0;
    (void)cudaMemGetInfo(&free_bytes, &all);
    return ridge_fail(error, RIDGE_NO_MEMORY, "no GPU memory for %.1f MB (%.1f MB are free)", (double)bytes * 1e-6,
                      (double)free_bytes * 1e-6);
}

extern "C" void ridge_cuda_free(void *memory) {
    if (!inherited) (void)cudaFree(memory);
}

extern "C" bool ridge_cuda_captures(void *stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing((cudaStream_t)stream, &status) == cudaSuccess)
        return status != cudaStreamCaptureStatusNone;
    (void)cudaGetLastError(); /* the legacy stream while another one captures */
    return false;
}

extern "C" ridge_status ridge_cuda_copy(void *to, const void *from, size_t bytes, ridge_error *error) {
    RIDGE_TRY(TELL(cudaMemcpy, (to, from, bytes, cudaMemcpyDefault)));
    /* A copy from pageable memory returns before the transfer is complete, and non-blocking streams do not wait for
     * it. */
    return TELL(cudaStreamSynchronize, (cudaStreamLegacy));
}

extern "C" ridge_status ridge_cuda_set(void *memory, int byte, size_t bytes, ridge_error *error) {
    RIDGE_TRY(TELL(cudaMemset, (memory, byte, bytes)));
    return TELL(cudaDeviceSynchronize, ());
}

extern "C" ridge_status ridge_cuda_alloc_pinned(size_t bytes, void **memory, ridge_error *error) {
    *memory = NULL;
    return TELL(cudaMallocHost, (memory, bytes ? bytes : 1));
}

extern "C" void ridge_cuda_free_pinned(void *memory) { (void)cudaFreeHost(memory); }

extern "C" ridge_status ridge_cuda_alloc_managed(size_t bytes, void **memory, ridge_error *error) {
    size_t free_bytes = 0, all = 0;
    *memory = NULL;
    RIDGE_TRY(TELL(cudaMemGetInfo, (&free_bytes, &all)));
    if (bytes > free_bytes / 4)
        return ridge_fail(error, RIDGE_NO_MEMORY,
                          "%.1f MB of managed memory are more than a quarter of the %.1f MB free", (double)bytes * 1e-6,
                          (double)free_bytes * 1e-6);
    return TELL(cudaMallocManaged, (memory, bytes ? bytes : 1));
}

/* ---- streams and events ----------------------------------------------------------------------------------------- */

extern "C" ridge_status ridge_stream_create(int events, ridge_stream **stream, ridge_error *error) {
    ridge_stream *s = (ridge_stream *)calloc(1, sizeof *s);
    ridge_status status = RIDGE_OK;
    *stream = s;
    if (s) s->events = (cudaEvent_t *)calloc((size_t)events + 1, sizeof *s->events);
    if (!s || !s->events) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a stream");
    status = TELL(cudaStreamCreateWithFlags, (&s->stream, cudaStreamNonBlocking));
    for (; status == RIDGE_OK && s->n < events; s->n++) status = TELL(cudaEventCreate, (&s->events[s->n]));
    return status;
}

extern "C" void ridge_stream_destroy(ridge_stream *s) {
    if (!s) return;
    for (int i = 0; i < s->n; i++) (void)cudaEventDestroy(s->events[i]);
    if (s->stream) (void)cudaStreamDestroy(s->stream);
    free(s->events);
    free(s);
}

extern "C" void *ridge_stream_handle(ridge_stream *s) { return s->stream; }

extern "C" ridge_status ridge_stream_record(ridge_stream *s, int event, ridge_error *error) {
    return TELL(cudaEventRecord, (s->events[event], s->stream));
}

extern "C" ridge_status ridge_stream_wait(ridge_stream *s, ridge_error *error) {
    return TELL(cudaStreamSynchronize, (s->stream));
}

extern "C" ridge_status ridge_stream_elapsed(ridge_stream *s, int from, int to, double *us, ridge_error *error) {
    float ms = 0;
    RIDGE_TRY(TELL(cudaEventElapsedTime, (&ms, s->events[from], s->events[to])));
    *us = (double)ms * 1e3;
    return RIDGE_OK;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

extern "C" ridge_status ridge_graph_begin(ridge_stream *s, ridge_error *error) {
    return TELL(cudaStreamBeginCapture, (s->stream, cudaStreamCaptureModeThreadLocal));
}

extern "C" ridge_status ridge_graph_end(ridge_stream *s, ridge_graph **graph, ridge_error *error) {
    ridge_graph *g = (ridge_graph *)calloc(1, sizeof *g);
    *graph = g;
    if (!g) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a graph");
    RIDGE_TRY(TELL(cudaStreamEndCapture, (s->stream, &g->graph)));
    RIDGE_TRY(TELL(cudaGraphInstantiate, (&g->exec, g->graph, 0)));
    return TELL(cudaGraphUpload, (g->exec, s->stream));
}

extern "C" ridge_status ridge_graph_launch(ridge_graph *g, ridge_stream *s, ridge_error *error) {
    return TELL(cudaGraphLaunch, (g->exec, s->stream));
}

extern "C" void ridge_graph_destroy(ridge_graph *g) {
    if (!g) return;
    if (g->exec) (void)cudaGraphExecDestroy(g->exec);
    if (g->graph) (void)cudaGraphDestroy(g->graph);
    free(g);
}

/* A function of the driver, which is found at run time like all of it; false: this driver, or the emulator, has none. */
template <typename F>
static bool find_in_driver(const char *name, unsigned version, F *function) {
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    const cudaError_t answer = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
    *function = (F)found;
    return answer == cudaSuccess && result == cudaDriverEntryPointSuccess;
}

/* A kernel that the runtime did not load, as those of libraries and of cudaLibrary_t. */
static ridge_gpu_kernel kernel_of_library(cudaGraphNode_t node) {
    CUresult (*parameters)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *), (*function_of)(CUfunction *, CUkernel);
    CUresult (*name_of)(const char **, CUfunction), (*ask)(int *, CUfunction_attribute, CUfunction);
    CUDA_KERNEL_NODE_PARAMS p = {};
    ridge_gpu_kernel kernel = {};
    if (!find_in_driver("cuGraphKernelNodeGetParams", 12000, &parameters) || parameters(node, &p) != CUDA_SUCCESS)
        return kernel;
    kernel = {NULL,
              {(int)p.gridDimX, (int)p.gridDimY, (int)p.gridDimZ},
              {(int)p.blockDimX, (int)p.blockDimY, (int)p.blockDimZ},
              0,
              0,
              (int)p.sharedMemBytes};
    if (!p.func &&
        (!find_in_driver("cuKernelGetFunction", 12000, &function_of) || function_of(&p.func, p.kern) != CUDA_SUCCESS))
        return kernel;
    if (!find_in_driver("cuFuncGetName", 12030, &name_of) || name_of(&kernel.name, p.func) != CUDA_SUCCESS)
        kernel.name = NULL;
    int shared = 0;
    if (find_in_driver("cuFuncGetAttribute", 2020, &ask)) {
        (void)ask(&kernel.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, p.func);
        (void)ask(&kernel.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, p.func);
        (void)ask(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, p.func);
    }
    kernel.shared_bytes += shared;
    return kernel;
}

/* The emulator only estimates registers. */
static ridge_gpu_kernel kernel_of(cudaGraphNode_t node) {
    cudaKernelNodeParams p = {};
    cudaFuncAttributes has = {};
    if (cudaGraphKernelNodeGetParams(node, &p) != cudaSuccess) {
        (void)cudaGetLastError();
        return kernel_of_library(node);
    }
    const dim3 blocks = p.gridDim, threads = p.blockDim;
    ridge_gpu_kernel kernel = {NULL,
                               {(int)blocks.x, (int)blocks.y, (int)blocks.z},
                               {(int)threads.x, (int)threads.y, (int)threads.z},
                               0,
                               0,
                               (int)p.sharedMemBytes};
    if (cudaFuncGetName(&kernel.name, p.func) != cudaSuccess) kernel.name = NULL;
    if (cudaFuncGetAttributes(&has, p.func) == cudaSuccess) kernel.shared_bytes += (int)has.sharedSizeBytes;
    if (!ridge_cuda_emulated()) kernel.registers = has.numRegs, kernel.local_bytes = (int)has.localSizeBytes;
    (void)cudaGetLastError();
    return kernel;
}

static ridge_status each_kernel(const cudaGraphNode_t *nodes, size_t n, ridge_gpu_kernel_fn each, void *context,
                                ridge_error *error) {
    for (size_t i = 0; i < n; i++) {
        cudaGraphNodeType type;
        RIDGE_TRY(TELL(cudaGraphNodeGetType, (nodes[i], &type)));
        if (type != cudaGraphNodeTypeKernel) continue;
        const ridge_gpu_kernel kernel = kernel_of(nodes[i]);
        RIDGE_TRY(each(context, &kernel, error));
    }
    return RIDGE_OK;
}

extern "C" ridge_status ridge_graph_kernels(const ridge_graph *g, ridge_gpu_kernel_fn each, void *context,
                                            ridge_error *error) {
    size_t n = 0;
    RIDGE_TRY(TELL(cudaGraphGetNodes, (g->graph, NULL, &n)));
    cudaGraphNode_t *nodes = (cudaGraphNode_t *)calloc(n ? n : 1, sizeof *nodes);
    if (!nodes) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the nodes of a graph");
    ridge_status status = TELL(cudaGraphGetNodes, (g->graph, nodes, &n));
    if (status == RIDGE_OK) status = each_kernel(nodes, n, each, context, error);
    free(nodes);
    return status;
}

/* ---- empty kernel and delay kernel ------------------------------------------------------------------------------- */

static __global__ void empty_kernel(void) {}

/* globaltimer counts nanoseconds; its update interval may be longer. */
static __global__ void delay_kernel(unsigned long long ns) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        __nanosleep(200);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

extern "C" ridge_status ridge_stream_empty(ridge_stream *s, ridge_error *error) {
    empty_kernel<<<1, 32, 0, s->stream>>>();
    return told(cudaGetLastError(), "empty kernel", error);
}

extern "C" ridge_status ridge_stream_delay(ridge_stream *s, double us, ridge_error *error) {
    delay_kernel<<<1, 1, 0, s->stream>>>((unsigned long long)(us * 1e3));
    return told(cudaGetLastError(), "delay kernel", error);
}

extern "C" void ridge_cuda_profile(bool on) { (void)(on ? cudaProfilerStart() : cudaProfilerStop()); }

extern "C" ridge_status ridge_cuda_check(bool *sticky, ridge_error *error) {
    cudaError_t last = cudaGetLastError();
    *sticky = false;
    if (last == cudaSuccess) return RIDGE_OK;
    *sticky = cudaDeviceSynchronize() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
    return told(last, "launch", error);
}
