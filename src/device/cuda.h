/* The GPU as a device: memory, streams, events, graphs, properties. Every call that CUDA refuses becomes a ridge_error
 * that names it. A build without CUDA has the same functions; they say RIDGE_UNSUPPORTED.
 *
 * CUDA does not survive fork(): in the lab only worker processes call these, after the fork, and what the parent wants
 * to know it asks an isolated child. */
#ifndef RIDGE_DEVICE_CUDA_H
#define RIDGE_DEVICE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ridge/status.h"

/* As the driver reports it; what ridge measures itself is in ceilings. */
typedef struct ridge_gpu {
    char name[96]; /* "NVIDIA H200" */
    char bus[32];  /* PCI address, by which NVML finds it again */
    int sm;        /* compute capability times ten */
    int multiprocessors;
    int64_t memory_bytes, free_bytes, l2_bytes;
    int shared_bytes;                                    /* a block may opt in to */
    int registers;                                       /* of a multiprocessor */
    int sm_clock_mhz, memory_clock_mhz, memory_bus_bits; /* the most the driver allows */
    int driver, runtime;                                 /* CUDA versions, e.g. 13000 */
    char driver_version[32];                             /* of the driver itself, "580.159.04"; "" not known */
    bool managed;                                        /* managed memory migrates by page faults */
} ridge_gpu;

typedef struct ridge_stream ridge_stream;
typedef struct ridge_graph ridge_graph;

/* RIDGE_UNSUPPORTED with the reason when there is no driver, no device, or no CUDA in this build. Makes the first
 * device current. */
ridge_status ridge_cuda_open(ridge_gpu *gpu, ridge_error *error);
/* Gives back L2 lines that somebody pinned. */
void ridge_cuda_reset_l2(void);
/* For code that lives in somebody else's process: makes a device current, says which one was, and the device's compute
 * capability times ten. Leaving makes the other one current again; after a refusal there is nothing to leave. In a
 * forked child of a process that used the GPU: RIDGE_UNSUPPORTED. */
ridge_status ridge_cuda_enter(int device, int *previous, int *sm, ridge_error *error);
void ridge_cuda_leave(int previous);
/* Whether this is such a child: what the parent had on the GPU can neither be used nor given back here. */
bool ridge_cuda_lost(void);

ridge_status ridge_cuda_alloc(size_t bytes, void **memory, ridge_error *error); /* at least 256-byte aligned */
void ridge_cuda_free(void *memory);
ridge_status ridge_cuda_copy(void *to, const void *from, size_t bytes, ridge_error *error); /* any direction; waits */
ridge_status ridge_cuda_set(void *memory, int byte, size_t bytes, ridge_error *error);      /* waits */
ridge_status ridge_cuda_alloc_pinned(size_t bytes, void **memory, ridge_error *error);      /* host memory */
void ridge_cuda_free_pinned(void *memory);
/* Managed memory, of which no more than a quarter of what the device has free is given at a time; freed as GPU memory.
 */
ridge_status ridge_cuda_alloc_managed(size_t bytes, void **memory, ridge_error *error);

/* A stream with `events` events, numbered from 0. */
ridge_status ridge_stream_create(int events, ridge_stream **stream, ridge_error *error);
void ridge_stream_destroy(ridge_stream *stream);
void *ridge_stream_handle(ridge_stream *stream); /* the cudaStream_t */
ridge_status ridge_stream_record(ridge_stream *stream, int event, ridge_error *error);
ridge_status ridge_stream_wait(ridge_stream *stream, ridge_error *error); /* until all of it is done */
/* Between two events that were both reached; microseconds. */
ridge_status ridge_stream_elapsed(ridge_stream *stream, int from, int to, double *us, ridge_error *error);

/* What is enqueued between begin and end becomes a graph. */
ridge_status ridge_graph_begin(ridge_stream *stream, ridge_error *error);
ridge_status ridge_graph_end(ridge_stream *stream, ridge_graph **graph, ridge_error *error);
ridge_status ridge_graph_launch(ridge_graph *graph, ridge_stream *stream, ridge_error *error);
void ridge_graph_destroy(ridge_graph *graph);

/* Enqueues a kernel that does nothing, and one that keeps the GPU busy for some microseconds (so that what is enqueued
 * behind it is all there when it ends). */
ridge_status ridge_stream_empty(ridge_stream *stream, ridge_error *error);
ridge_status ridge_stream_delay(ridge_stream *stream, double us, ridge_error *error);

/* Where a profiler that was told to wait begins and ends to look. */
void ridge_cuda_profile(bool on);

/* An error of an earlier launch, if there is one. *sticky: the process can no longer use the GPU. */
ridge_status ridge_cuda_check(bool *sticky, ridge_error *error);

#endif
