/* The sampler's state, and the rig: what a backend offers the sampler. Internal to measure.
 *
 * The sampler owns the schedule, the stop rule and the words to the parent; a rig owns operands, launches and clocks.
 * Sets 0 … sets-1 rotate; set `sets` is the lead, for what is not timed. With --hot there is one set, and while rounds
 * run the lead is not touched. */
#ifndef RIDGE_MEASURE_SAMPLER_H
#define RIDGE_MEASURE_SAMPLER_H

#include "measure/event.h"
#include "measure/reference.h"

/* What a slot of the round times. */
typedef enum ridge_slot_kind {
    RIDGE_SLOT_VARIANT,   /* one launch, as a caller sees it */
    RIDGE_SLOT_REFERENCE, /* CPU: a plain copy of the least bytes */
    RIDGE_SLOT_CORE,      /* CPU: the variant on few rows, in the core's own caches */
    RIDGE_SLOT_GRAPH,     /* GPU: several launches on sets of their own inside one captured graph; time of one */
} ridge_slot_kind;

typedef struct ridge_slot {
    ridge_slot_kind kind;
    const ridge_variant *variant; /* NULL: the reference */
    int of;                       /* the slot of its variant: what is blamed and dropped for it */
    void *plan;
    double *times; /* microseconds, RIDGE_MAX_SAMPLES; NULL: does not take part in the stop rule */
    int n;
    double estimate_us;
    bool active;
    int64_t core_rows; /* RIDGE_SLOT_CORE */
    int sets;          /* operand sets one sample takes: 1 but for graphs */
} ridge_slot;

enum { RIDGE_LINE = 64 };

/* One sample of a batch: what to run, and what came of it. */
typedef struct ridge_launch {
    int slot, set; /* the first of its sets */
    ridge_sample sample;
    ridge_status status;
    ridge_check check; /* of a core slot, whose operands the next one overwrites */
    void *graph;       /* of a graph slot, while the batch lasts */
} ridge_launch;

typedef struct ridge_sampler ridge_sampler;

typedef struct ridge_rig {
    /* Before anything is prepared; after it, when slots and scratch_bytes are known; when all is over. */
    ridge_status (*open)(ridge_sampler *s, ridge_error *error);
    ridge_status (*allocate)(ridge_sampler *s, ridge_error *error);
    void (*close)(ridge_sampler *s);
    /* Empty launches: tells the parent what they cost. */
    ridge_status (*frame)(ridge_sampler *s, ridge_error *error);
    ridge_status (*fill)(ridge_sampler *s, int set, uint64_t seed, ridge_error *error);
    /* One launch, waited for. *status: what the variant said; an error of the rig's own ends the case. */
    ridge_status (*launch)(ridge_sampler *s, int slot, int set, ridge_status *status, double *time_us,
                           ridge_error *error);
    /* A batch, in order; status and sample of each. */
    ridge_status (*time)(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error);
    /* rows < 0: everything. */
    ridge_status (*check)(ridge_sampler *s, int set, uint64_t row_seed, int64_t rows, ridge_check *check,
                          ridge_error *error);
    ridge_status (*agree)(ridge_sampler *s, int set_a, int set_b, ridge_agreement *agreement, ridge_error *error);
    /* Slots beside the variants: reference, core, graphs. Fills their entries; the sampler lines them up. */
    ridge_status (*companions)(ridge_sampler *s, ridge_error *error);
} ridge_rig;

extern const ridge_rig ridge_rig_cpu, ridge_rig_cuda;

struct ridge_sampler {
    const ridge_job *job;
    const ridge_sampler_io *io;
    const ridge_rig *rig;
    void *own; /* the rig's */
    ridge_team *team;
    ridge_slot *slots;           /* as ridge_slot's numbers in event.h */
    int active[RIDGE_MAX_SLOTS]; /* slots in a round, forward order: variants, then the others */
    int n_active;
    int n_running; /* variants among them */
    ridge_rotation rotation;
    size_t scratch_bytes;
    ridge_launch *batch;
    int64_t sample_rows;
    uint64_t fillings; /* every filling takes the next seed */
    int64_t scheduled; /* launches handed out */
    int next_look;     /* rounds after which the stop rule is asked again */
    uint64_t began_ns;
};

uint64_t ridge_sampler_next_seed(ridge_sampler *s);
/* Tells the parent what runs now, so that it knows whom to blame. slot -1: the harness itself. */
void ridge_sampler_watch(const ridge_sampler *s, int slot);
void ridge_sampler_send(const ridge_sampler *s, ridge_event *event);
/* Bytes by which a set is moved for this seed, so that no sample meets the addresses of the one before. */
size_t ridge_sampler_shift(const ridge_sampler *s, uint64_t seed);
/* A sample that this process cannot outlive (a GPU that is lost to it): the parent blames the slot, or, where it is not
 * known (-1), starts a worker that finds out. Does not return. */
_Noreturn void ridge_sampler_give_up(const ridge_sampler *s, int slot, const char *why);

#endif
