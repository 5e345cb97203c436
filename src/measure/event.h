/* What a worker tells the process that started it: events of a fixed size, each one packet of a socket that keeps
 * packets apart, and a page of shared memory that says what runs right now, for when nothing more can be said. */
#ifndef RIDGE_MEASURE_EVENT_H
#define RIDGE_MEASURE_EVENT_H

#include <stdatomic.h>

#include "measure/job.h"

/* Slots 0 … n-1 are the job's variants, slot n is the reference, slots n+1 … 2n the variants' companions: on the CPU
 * the same code in the core's own caches, on a GPU inside a captured graph. */
enum { RIDGE_MAX_SLOTS = 64, RIDGE_MAX_SAMPLES = 4000, RIDGE_MAX_SETS = 4096 };

typedef enum ridge_event_kind {
    RIDGE_EVENT_FRAME = 1,   /* value: microseconds of an empty launch */
    RIDGE_EVENT_SKIPPED,     /* text */
    RIDGE_EVENT_CHECKED,     /* check: the first, widest check of a variant */
    RIDGE_EVENT_SAMPLE,      /* sample */
    RIDGE_EVENT_WRONG,       /* check, text */
    RIDGE_EVENT_FAILED,      /* text: the variant returned an error */
    RIDGE_EVENT_AGREES,      /* agreement with the first optimized variant */
    RIDGE_EVENT_STOPPED,     /* stop */
    RIDGE_EVENT_GRAPH_FRAME, /* value: microseconds of an empty launch inside a graph */
    RIDGE_EVENT_LOST,        /* text: some launch of a batch took the GPU from this process */
    RIDGE_EVENT_BROKEN,      /* text: the worker itself cannot go on (no memory) */
} ridge_event_kind;

typedef struct ridge_event {
    uint32_t magic;
    uint32_t kind;
    int32_t slot; /* of ridge_slot's three kinds; -1: none */
    int32_t stop;
    double value;
    ridge_sample sample;
    ridge_check check;
    ridge_agreement agreement;
    char text[240];
} ridge_event;

#define RIDGE_EVENT_MAGIC UINT32_C(0x72696467)

/* Shared: which launch is under way. */
typedef struct ridge_watch {
    atomic_int slot;           /* -1: none, the worker is filling or checking */
    atomic_int last;           /* the slot that was launched last; -1: none yet */
    _Atomic uint64_t since_ns; /* when what is under way began */
} ridge_watch;

typedef struct ridge_sampler_io {
    int fd;
    ridge_watch *watch;
    const bool *excluded; /* slots that failed in an earlier worker of this job: left out */
    bool careful;         /* an earlier worker lost the GPU in a batch: wait after every launch, to find out where */
} ridge_sampler_io;

/* The worker's body. */
void ridge_sampler_run(const ridge_job *job, const ridge_sampler_io *io);

/* How a job lays out its operands. */
typedef struct ridge_rotation {
    size_t set_bytes; /* one set, with guards */
    size_t stride;    /* from one set to the next: room to move each a little on every filling */
    int sets;
} ridge_rotation;
ridge_status ridge_rotation_plan(const ridge_job *job, ridge_rotation *rotation, ridge_error *error);

#endif
