/* The GPU as a device: memory, streams, events, graphs, properties. A failed CUDA call becomes a ridge_error that names
 * the call. A build without CUDA has the same functions; they return RIDGE_UNSUPPORTED.
 *
 * CUDA does not survive fork(). In the lab, only worker processes call these functions, after the fork. The parent
 * queries the GPU through an isolated child. */
#ifndef RIDGE_DEVICE_CUDA_H
#define RIDGE_DEVICE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ridge/status.h"

/* Properties as the driver reports them. Measured rates are in ridge_ceilings. */
typedef struct ridge_gpu {
    char name[96]; /* "NVIDIA H200" */
    char bus[32];  /* PCI address, used to find the device in NVML */
    int sm;        /* compute capability times ten */
    int sm_count;
    int64_t memory_bytes, free_bytes, l2_bytes;
    int shared_bytes;                                    /* bytes per block, with opt-in */
    int registers;                                       /* per SM */
    int sm_clock_mhz, memory_clock_mhz, memory_bus_bits; /* maximum clocks */
    int driver, runtime;                                 /* CUDA versions, e.g. 13000 */
    char driver_version[32];                             /* "580.159.04"; "": not known */
    bool managed;                                        /* managed memory migrates by page faults */
    bool emulated;                                       /* on the CPU: answers and counts, no times */
} ridge_gpu;

typedef struct ridge_stream ridge_stream;
typedef struct ridge_graph ridge_graph;

/* Makes the first device current and reads its properties. RIDGE_UNSUPPORTED, with the reason: no driver, no device, or
 * no CUDA in this build. */
ridge_status ridge_cuda_open(ridge_gpu *gpu, ridge_error *error);
/* Resets persisting L2 lines to normal. */
void ridge_cuda_reset_l2(void);
/* For library code in a caller's process. Enter makes `device` current and returns the previous device and the compute
 * capability times ten and the number of SMs. Leave makes the previous device current again. After an error
 * of enter, do not call leave. RIDGE_UNSUPPORTED in a forked child of a process that used the GPU. */
ridge_status ridge_cuda_enter(int device, int *previous, int *sm, int *sm_count, ridge_error *error);
void ridge_cuda_leave(int previous);
/* True in such a child: it can neither use nor free the parent's GPU objects. */
bool ridge_cuda_lost(void);

ridge_status ridge_cuda_alloc(size_t bytes, void **memory, ridge_error *error); /* at least 256-byte aligned */
void ridge_cuda_free(void *memory);
bool ridge_cuda_captures(void *stream); /* whether what is enqueued becomes part of a graph */
ridge_status ridge_cuda_copy(void *to, const void *from, size_t bytes,
                             ridge_error *error);                                      /* any direction; synchronous */
ridge_status ridge_cuda_set(void *memory, int byte, size_t bytes, ridge_error *error); /* synchronous */
ridge_status ridge_cuda_alloc_pinned(size_t bytes, void **memory, ridge_error *error); /* host memory */
void ridge_cuda_free_pinned(void *memory);
/* Managed memory, at most a quarter of the free device memory per call; else RIDGE_NO_MEMORY. Free it with
 * ridge_cuda_free. */
ridge_status ridge_cuda_alloc_managed(size_t bytes, void **memory, ridge_error *error);

/* A stream with `events` events, numbered from 0. */
ridge_status ridge_stream_create(int events, ridge_stream **stream, ridge_error *error);
void ridge_stream_destroy(ridge_stream *stream);
void *ridge_stream_handle(ridge_stream *stream); /* the cudaStream_t */
ridge_status ridge_stream_record(ridge_stream *stream, int event, ridge_error *error);
ridge_status ridge_stream_wait(ridge_stream *stream, ridge_error *error); /* until all enqueued work is done */
/* Microseconds between two completed events. */
ridge_status ridge_stream_elapsed(ridge_stream *stream, int from, int to, double *us, ridge_error *error);

/* Captures the work enqueued between begin and end into a graph. */
ridge_status ridge_graph_begin(ridge_stream *stream, ridge_error *error);
ridge_status ridge_graph_end(ridge_stream *stream, ridge_graph **graph, ridge_error *error);
ridge_status ridge_graph_launch(ridge_graph *graph, ridge_stream *stream, ridge_error *error);
void ridge_graph_destroy(ridge_graph *graph);

/* A kernel as it is launched. `name` lives as long as the program; NULL: of a library that does not tell it. */
typedef struct ridge_gpu_kernel {
    const char *name; /* as the linker has it */
    int blocks[3], threads[3];
    int registers, local_bytes; /* of a thread; 0: not known */
    int shared_bytes;           /* of a block, static and dynamic */
} ridge_gpu_kernel;
typedef ridge_status (*ridge_gpu_kernel_fn)(void *context, const ridge_gpu_kernel *kernel, ridge_error *error);
/* Calls `each` for every kernel of the graph, until it fails. */
ridge_status ridge_graph_kernels(const ridge_graph *graph, ridge_gpu_kernel_fn each, void *context, ridge_error *error);

/* ridge_stream_empty enqueues an empty kernel. ridge_stream_delay enqueues a kernel that spins for `us` microseconds,
 * so that the host can enqueue the work behind it meanwhile. */
ridge_status ridge_stream_empty(ridge_stream *stream, ridge_error *error);
ridge_status ridge_stream_delay(ridge_stream *stream, double us, ridge_error *error);

/* Starts or stops the collection of an attached profiler (cudaProfilerStart, cudaProfilerStop). */
void ridge_cuda_profile(bool on);

/* Returns the error of an earlier launch, if any. *sticky: the process can no longer use the GPU. */
ridge_status ridge_cuda_check(bool *sticky, ridge_error *error);

#endif
