/* Messages from a worker to its parent. Events have a fixed size; each is one packet of a SOCK_SEQPACKET socket. A page
 * of shared memory names the running launch, so that the parent knows it when the worker crashes. */
#ifndef RIDGE_MEASURE_EVENT_H
#define RIDGE_MEASURE_EVENT_H

#include <stdatomic.h>

#include "measure/job.h"

/* Slots 0 … n-1 are the job's variants, slot n is the reference, slots n+1 … 2n are the companions of the variants: on
 * the CPU the same code with operands in the core's private caches, on a GPU the variant in a captured graph. */
enum { RIDGE_MAX_SLOTS = 64, RIDGE_MAX_SAMPLES = 4000, RIDGE_MAX_SETS = 4096 };

typedef enum ridge_event_kind {
    RIDGE_EVENT_FRAME = 1,   /* value: microseconds of an empty launch */
    RIDGE_EVENT_SKIPPED,     /* text: the reason */
    RIDGE_EVENT_CHECKED,     /* check: the first, widest check of a variant */
    RIDGE_EVENT_SAMPLE,      /* sample */
    RIDGE_EVENT_WRONG,       /* check, text */
    RIDGE_EVENT_FAILED,      /* text: the variant returned an error */
    RIDGE_EVENT_AGREES,      /* agreement with the first optimized variant */
    RIDGE_EVENT_STOPPED,     /* stop; value: seconds of rounds; sample.round: their number */
    RIDGE_EVENT_GRAPH_FRAME, /* value: microseconds of an empty launch inside a graph */
    RIDGE_EVENT_LOST,        /* text: a launch of a batch made the GPU unusable for this process */
    RIDGE_EVENT_BROKEN,      /* text: the worker itself failed (no memory) */
} ridge_event_kind;

typedef struct ridge_event {
    uint32_t magic;
    uint32_t kind;
    int32_t slot; /* numbered as above; -1: none */
    int32_t stop;
    int32_t way; /* CHECKED: the way that ran, counted from 1; 0: the variant has none */
    double value;
    ridge_sample sample;
    ridge_check check;
    ridge_agreement agreement;
    char text[240];
} ridge_event;

#define RIDGE_EVENT_MAGIC UINT32_C(0x72696467)

/* Shared memory: the running launch. */
typedef struct ridge_watch {
    atomic_int slot;           /* the running slot; -1: none, the worker fills or checks */
    atomic_int last;           /* the last launched slot; -1: none yet */
    atomic_bool preparing;     /* the running slot is not launched, but prepared */
    _Atomic uint64_t since_ns; /* start of the launch, or of the fill or check */
} ridge_watch;

typedef struct ridge_sampler_io {
    int fd;
    ridge_watch *watch;
    const bool *excluded; /* slots that failed in an earlier worker of this job; they do not run */
    bool careful; /* an earlier worker lost the GPU in a batch: synchronize after every launch to find the slot */
} ridge_sampler_io;

/* Main function of the worker process. */
void ridge_sampler_run(const ridge_job *job, const ridge_sampler_io *io);

/* The operand sets that a job rotates through. */
typedef struct ridge_rotation {
    size_t set_bytes; /* one set, guards included */
    size_t stride;    /* bytes from one set to the next; the slack lets every fill shift the set */
    int sets;
} ridge_rotation;
ridge_status ridge_rotation_plan(const ridge_job *job, ridge_rotation *rotation, ridge_error *error);

#endif
