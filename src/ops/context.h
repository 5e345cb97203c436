/* The state of a program between calls: threads, stream, and per device the scratch memory and the plans of earlier
 * shapes. Internal to ops. */
#ifndef RIDGE_OPS_CONTEXT_H
#define RIDGE_OPS_CONTEXT_H

#include "ridge/ops.h"
#include "ridge/tuned.h"

enum {
    RIDGE_PLANS = 32,         /* cached plans; a new plan replaces the oldest */
    RIDGE_GPUS = 64,          /* devices 0 … 63 are served */
    RIDGE_MOST_THREADS = 4096 /* per context: more than machines have, too few to exhaust one */
};

/* Where a call runs. */
typedef struct ridge_place {
    ridge_backend backend;
    int device; /* GPU: the current device */
} ridge_place;

typedef struct ridge_prepared {
    const ridge_variant *variant;
    ridge_case c;
    int device; /* -1: the CPU */
    void *plan;
} ridge_prepared;

/* Scratch memory of one device. It grows when a call needs more. What a graph may use stays until the context is destroyed. */
typedef struct ridge_scratch {
    void *memory;
    size_t bytes;
    bool captured;
    void **kept; /* of graphs, smaller than `memory` */
    int n_kept;
} ridge_scratch;

struct ridge_context {
    ridge_team *team;
    ridge_isa isa;
    void *stream;
    bool tf32;            /* float32 tensors may use tf32 cases */
    const ridge_way *ran; /* by the last call */
    ridge_tuned *tuned;   /* NULL: none */
    ridge_scratch host, gpu[RIDGE_GPUS];
    ridge_prepared plans[RIDGE_PLANS];
    int n_plans, next_plan;
};

ridge_status ridge_context_scratch(ridge_context *context, ridge_place place, size_t bytes, void **memory,
                                   ridge_error *error);
ridge_status ridge_context_plan(ridge_context *context, ridge_place place, const ridge_variant *variant,
                                const ridge_case *c, void **plan, ridge_error *error);

#endif
