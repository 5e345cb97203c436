/* The meter times movers and peak loops on every thread of a pinned team at once. A burst is one timed piece of work, a
 * millisecond or two. Candidates for the same rate take turns burst by burst, so that a slow spell of the machine hits
 * them all. A sample is the best of a few bursts that lie a round apart: what interrupts a burst can only slow it, and
 * a ceiling that is too low would flatter every kernel. The rate is the median of the samples with its interval. */
#ifndef RIDGE_MACHINE_MEMORY_METER_H
#define RIDGE_MACHINE_MEMORY_METER_H

#include "machine/ceilings/ceilings.h"
#include "machine/memory/movers.h"

enum { RIDGE_METER_SAMPLES = 32, RIDGE_METER_BEST_OF = 2, RIDGE_METER_FINALISTS = 3 };

typedef struct ridge_meter {
    ridge_team *team;
    int threads;
    char *memory;  /* a private slice for each thread, first touched by it */
    size_t bytes;  /* all of it */
    size_t stride; /* from one thread's slice to the next */
} ridge_meter;

ridge_status ridge_meter_create(const ridge_machine *machine, int threads, ridge_meter *meter, ridge_error *error);
void ridge_meter_destroy(ridge_meter *meter);

/* Room for slices of `slice` bytes a thread; what was there is gone. */
ridge_status ridge_meter_reserve(ridge_meter *meter, size_t slice, ridge_error *error);

/* Read and copy rates of n rungs, slices[i] bytes a thread on rung i, by the plainest loops of the widest vectors. The
 * ladder is climbed several times over, so that a slow spell of the machine does not look like the edge of a cache. */
ridge_status ridge_meter_rungs(ridge_meter *meter, const size_t *slices, int n, ridge_rung *rungs, ridge_error *error);

/* Movers of each motion that were the fastest where all were tried. */
typedef struct ridge_shortlist {
    int n[RIDGE_MOTIONS];
    const ridge_mover *movers[RIDGE_MOTIONS][RIDGE_METER_FINALISTS];
} ridge_shortlist;

/* All four rates at a working set of `slice` bytes a thread (n = 0 for motions that this architecture lacks), by the
 * best of all movers: `finalists` of each motion (at most RIDGE_METER_FINALISTS) get `samples` samples (at most
 * RIDGE_METER_SAMPLES). `list`, which may be NULL: for each motion, the movers to measure; where there are none all are
 * tried, and the finalists listed. */
void ridge_meter_level(ridge_meter *meter, size_t slice, int finalists, int samples, ridge_shortlist *list,
                       ridge_level *level);

#endif
