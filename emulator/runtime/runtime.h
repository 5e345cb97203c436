/* The CUDA runtime's objects as the emulator has them. All that the host asks for is data first: an action, with what
 * it must come after. Actions are done when the host waits for something (work.c).
 *
 * Each public function takes the one lock (EMU_LOCKED) and returns through emu_told(), which keeps the last error. */
#ifndef EMULATOR_RUNTIME_RUNTIME_H
#define EMULATOR_RUNTIME_RUNTIME_H

#include <cuda_runtime_api.h>

#include "check/check.h"
#include "machine/machine.h"

/* ---- state of the process (state.c) ---------------------------------------------------------------------------- */
bool emu_lock(void);
void emu_unlock(const bool *);
#define EMU_LOCKED __attribute__((cleanup(emu_unlock), unused)) bool locked = emu_lock()
cudaError_t emu_told(cudaError_t); /* remembers an error for cudaGetLastError() */
/* A launch failed: the next synchronizing call returns the error, cudaGetErrorString() the text. */
void emu_fail_later(cudaError_t, const char *text);
cudaError_t emu_take_failure(void);
cudaError_t emu_describe(cudaError_t, const char *text); /* the text of this error is this from now on; returns it */
void emu_report_counts(
    void); /* since the last call, to EMULATOR_REPORT: at the end of every launch, for a process may _exit() */
void emu_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line on stderr */

/* ---- modules and kernels (module.c) ---------------------------------------------------------------------------- */
typedef struct emu_fatbin emu_fatbin;
typedef struct CUkern_st emu_kernel;
struct CUkern_st {
    emu_fatbin *fatbin;
    const char *name;       /* in the PTX */
    char *shown;            /* demangled */
    const void *host;       /* the function that stands for it in host code */
    ptx_function *function; /* NULL: not loaded yet */
    const emu_code *code;
    char *why; /* it cannot be loaded */
    cudaError_t error;
    int max_dynamic_shared; /* -1: not set */
    int carveout;
    bool non_portable_cluster;
};
emu_kernel *emu_kernel_of(const void *host_function_or_kernel);
cudaError_t emu_kernel_load(emu_kernel *); /* parses and decodes it unless that is done */
/* What a program loads itself (library.c): a fat binary, its wrapper, or PTX. It must stay where it is until it is opened.
 * A removed kernel's handle is none any more; what is under way with it ends. */
emu_fatbin *emu_fatbin_add(const void *image);
cudaError_t emu_fatbin_open(emu_fatbin *);
const ptx_module *emu_fatbin_module(const emu_fatbin *); /* NULL: not opened */
emu_kernel *emu_kernel_add(emu_fatbin *, const char *name, const void *host);
void emu_kernel_remove(emu_kernel *);
/* Memory of a __device__, __constant__ or __managed__ variable. */
cudaError_t emu_symbol_find(const void *host, void **memory, size_t *bytes);

/* ---- actions (action.c) ------------------------------------------------------------------------------------------ */
typedef enum emu_action_kind {
    EMU_JOIN, /* nothing: what comes after it comes after all before it */
    EMU_LAUNCH,
    EMU_COPY,
    EMU_SET,
    EMU_CALL, /* a host function */
    EMU_FREE, /* memory */
} emu_action_kind;

typedef struct emu_launch {
    emu_kernel *kernel;
    emu_dim blocks, threads, cluster;
    uint32_t dynamic_shared;
    uint8_t *parameters; /* owned */
    bool programmatic, cooperative, explicit_cluster;
} emu_launch;

/* A box of width bytes × height × depth. */
typedef struct emu_copy_box {
    uint8_t *to;
    const uint8_t *from;
    size_t width, height, depth;
    size_t to_pitch, to_slice, from_pitch, from_slice; /* bytes */
    uint8_t *staged;                                   /* owned copy of pageable host memory, NULL: none */
} emu_copy_box;

typedef struct emu_set_box {
    uint8_t *to;
    uint32_t value;
    uint32_t element;                          /* 1, 2, 4 bytes */
    size_t width, height, depth, pitch, slice; /* width in bytes */
} emu_set_box;

typedef struct emu_action {
    emu_action_kind kind;
    union {
        emu_launch launch;
        emu_copy_box copy;
        emu_set_box set;
        struct {
            void (*function)(void *);
            void *argument;
        } call;
        void *memory;
    };
} emu_action;
emu_action emu_action_clone(const emu_action *);
void emu_action_clear(emu_action *);    /* frees what it owns */
void emu_action_do(const emu_action *); /* all but launches */

/* ---- work: actions that wait for their turn (work.c) ------------------------------------------------------------- */
typedef struct emu_work emu_work;
struct emu_work {
    emu_action action;
    emu_grid *grid;                    /* of a launch that has begun */
    struct emu_clock *clock;           /* what who waits for it knows */
    emu_work *after;                   /* the launch that a programmatic one follows, NULL: none */
    emu_work **successor, **dependent; /* wait for the end; for griddepcontrol.launch_dependents */
    int n_successors, n_dependents;
    int waits; /* for so many */
    int references;
    bool begun, done;
    double ended; /* seconds of the host's clock */
};
emu_work *emu_work_new(const emu_action *); /* takes the action over; holds one reference for the caller */
void emu_work_after(emu_work *, emu_work *before, bool programmatic);
void emu_work_submit(emu_work *); /* no more emu_work_after() */
void emu_work_release(emu_work *);
void emu_work_wait(emu_work *); /* NULL: all */

/* ---- streams and events (stream.c) ------------------------------------------------------------------------------- */
typedef struct emu_list {
    void **item;
    int n;
} emu_list;
void emu_list_add(emu_list *, void *);

struct CUstream_st {
    struct CUstream_st *next;
    unsigned flags;
    int priority;
    unsigned long long id;
    emu_list tail;         /* emu_work: what is enqueued next comes after these */
    emu_work *last_launch; /* the last that was enqueued, if it is a launch: one of the tail */
    cudaGraph_t capture;   /* NULL: not capturing */
    emu_list captured;     /* cudaGraphNode_t: the tail of what is captured */
    bool captures_first;   /* the capture began here */
    enum cudaStreamCaptureMode mode;
    const void *captured_by;       /* the thread */
    cudaGraphNode_t last_captured; /* a launch, as above */
};
struct CUevent_st {
    unsigned flags;
    emu_work *work;    /* NULL: not recorded */
    cudaGraph_t graph; /* recorded in a capture */
    emu_list nodes;
};
cudaStream_t emu_stream_of(cudaStream_t); /* NULL and the two special handles resolved; NULL: not a stream */
/* Enqueues or captures the action, which is taken over. */
cudaError_t emu_enqueue(cudaStream_t, const emu_action *);
cudaError_t emu_stream_wait(cudaStream_t);
cudaStream_t emu_streams(void); /* the first of a list; the legacy stream is not in it */
cudaError_t emu_device_wait(void);
bool emu_capturing(void);         /* any stream is, in a way that forbids to this thread what is not enqueued */
bool emu_unsafe_in_capture(void); /* the same, and such captures become invalid */

/* ---- graphs (graph.c) -------------------------------------------------------------------------------------------- */
typedef struct emu_edge {
    cudaGraphNode_t from;
    bool programmatic;
} emu_edge;
struct CUgraphNode_st {
    cudaGraph_t graph;
    enum cudaGraphNodeType type;
    emu_action action;
    cudaGraph_t child;
    cudaEvent_t event;
    emu_edge *edge; /* what it comes after */
    int n_edges;
    bool disabled;
    void **pointer;         /* to the parameters, for who asks for them */
    emu_work *first, *work; /* while its graph is launched: its begin and its end, for a child graph not the same */
};
struct CUgraph_st {
    emu_list nodes; /* in the order they were added */
    unsigned long long id;
    bool capturing, invalid;
};
cudaGraph_t emu_graph_new(void);
cudaGraphNode_t emu_graph_add(cudaGraph_t, enum cudaGraphNodeType, const emu_action *, const emu_list *after);
void emu_graph_free(cudaGraph_t);

/* ---- launches (launch.c) ----------------------------------------------------------------------------------------- */
emu_grid *emu_grid_begin(emu_work *); /* NULL: it cannot, the error is kept */
void emu_grid_end(emu_work *);
cudaError_t emu_launch_of(const cudaLaunchConfig_t *, emu_kernel *, void **arguments, emu_launch *out);
cudaError_t emu_launch_shape(const cudaLaunchConfig_t *, emu_kernel *, emu_launch *out); /* without parameters */
uint64_t emu_launch_capacity(const emu_launch *); /* clusters that the device holds at once */
#endif
