/* The sampler's state, and the rig, a backend's interface to the sampler. Internal to measure.
 *
 * The sampler owns the schedule, the stop rule and the messages to the parent. A rig owns operands, launches and
 * clocks. Sets 0 … sets-1 rotate. Set `sets` is the lead set, used by untimed launches. With --hot there is one set,
 * and the lead set is unused during the rounds. */
#ifndef RIDGE_MEASURE_SAMPLER_H
#define RIDGE_MEASURE_SAMPLER_H

#include "measure/event.h"
#include "measure/reference.h"

/* What a slot measures. */
typedef enum ridge_slot_kind {
    RIDGE_SLOT_VARIANT,   /* one launch, as a caller would time it */
    RIDGE_SLOT_REFERENCE, /* CPU: plain loops that move the minimum bytes */
    RIDGE_SLOT_CORE,      /* CPU: the variant on few rows, operands in the core's private caches */
    RIDGE_SLOT_GRAPH,     /* GPU: several launches in one captured graph, each on its own set; time per launch */
} ridge_slot_kind;

typedef struct ridge_slot {
    ridge_slot_kind kind;
    const ridge_variant *variant; /* NULL: the reference */
    int of;                       /* slot of its variant, which takes the blame and is dropped with it */
    void *plan;
    const ridge_way *way; /* that ran last; NULL: the variant has none, or has not run */
    double *times;        /* microseconds, RIDGE_MAX_SAMPLES; NULL: not part of the stop rule */
    int n;
    double estimate_us; /* see ridge_sampler_estimate; 0: not launched */
    double host_us;     /* GPU, of a peer in Python: least time that a launch held up the host; 0: unknown */
    bool active;
    int64_t core_rows; /* RIDGE_SLOT_CORE */
    int sets;          /* operand sets per sample: 1, more for graphs */
} ridge_slot;

enum { RIDGE_LINE = 64 };

/* One sample of a batch: its launch and its result. */
typedef struct ridge_launch {
    int slot, set; /* first operand set */
    ridge_sample sample;
    ridge_status status;
    ridge_check check; /* core slots: checked at once, because the next launch overwrites the operands */
    bool refuted;      /* by the launch before, which is not timed: the check is of that one */
    void *graph;       /* graph slots: the captured graph, during the batch */
} ridge_launch;

typedef struct ridge_sampler ridge_sampler;

typedef struct ridge_rig {
    /* open: before the variants are prepared. allocate: after it, when slots and scratch_bytes are known. close: at the
     * end. */
    ridge_status (*open)(ridge_sampler *s, ridge_error *error);
    ridge_status (*allocate)(ridge_sampler *s, ridge_error *error);
    void (*close)(ridge_sampler *s);
    /* Times empty launches and sends the result to the parent. */
    ridge_status (*frame)(ridge_sampler *s, ridge_error *error);
    ridge_status (*fill)(ridge_sampler *s, int set, uint64_t seed, ridge_error *error);
    /* One synchronous launch. *status: the variant's status. An error of the rig itself ends the case. */
    ridge_status (*launch)(ridge_sampler *s, int slot, int set, ridge_status *status, double *time_us,
                           ridge_error *error);
    /* Times a batch in order; sets status and sample of each launch. */
    ridge_status (*time)(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error);
    /* rows < 0: checks all rows. */
    ridge_status (*check)(ridge_sampler *s, int set, uint64_t row_seed, int64_t rows, ridge_check *check,
                          ridge_error *error);
    ridge_status (*agree)(ridge_sampler *s, int set_a, int set_b, ridge_agreement *agreement, ridge_error *error);
    /* Fills the entries of the slots beside the variants: reference, core, graphs. The sampler orders them. */
    ridge_status (*companions)(ridge_sampler *s, ridge_error *error);
} ridge_rig;

extern const ridge_rig ridge_rig_cpu, ridge_rig_cuda;

struct ridge_sampler {
    const ridge_job *job;
    const ridge_sampler_io *io;
    const ridge_rig *rig;
    void *own; /* state of the rig */
    ridge_team *team;
    ridge_slot *slots;           /* numbered as in event.h */
    int active[RIDGE_MAX_SLOTS]; /* slots of a round in forward order: variants, then the others */
    int n_active;
    int n_running; /* variants among them */
    ridge_rotation rotation;
    size_t scratch_bytes;
    ridge_launch *batch;
    int64_t sample_rows;
    uint64_t fillings; /* number of fills; each takes the next seed */
    int64_t scheduled; /* launches scheduled so far */
    int next_look;     /* round at which the stop rule is evaluated next */
    bool warming;      /* rounds before the timed ones: their samples are not sent */
    uint64_t began_ns;
};

uint64_t ridge_sampler_next_seed(ridge_sampler *s);
/* A slot's estimate is its fastest launch so far: the first may load code, and one that was interrupted must not change
 * how the next one is timed. */
void ridge_sampler_estimate(ridge_slot *slot, double time_us);
/* Publishes the running slot to the parent, which blames it after a crash. slot -1: the harness itself. */
void ridge_sampler_watch(const ridge_sampler *s, int slot);
void ridge_sampler_send(const ridge_sampler *s, ridge_event *event);
/* Bytes by which a set is shifted for this seed, so that consecutive samples use different addresses. */
size_t ridge_sampler_shift(const ridge_sampler *s, uint64_t seed);
/* Ends the worker after a fatal sample (the process can no longer use the GPU). The parent blames the slot; if it is
 * not known (-1), the parent starts a worker that finds it. Does not return. */
_Noreturn void ridge_sampler_give_up(const ridge_sampler *s, int slot, const char *why);

#endif
