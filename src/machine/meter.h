/* The meter times movers and peak loops on every thread of a pinned team at once. A burst is one timed piece of work, a
 * millisecond or two; a rate is the median of many bursts with its interval. Candidates for the same rate take turns
 * burst by burst, so that a slow spell of the machine hits them all, and the fastest by median is kept. */
#ifndef RIDGE_MACHINE_METER_H
#define RIDGE_MACHINE_METER_H

#include "machine/ceilings.h"
#include "machine/movers.h"
#include "machine/peaks.h"

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

/* Read and copy rates of one rung of the ladder by the plainest loops of the widest vectors. */
void ridge_meter_rung(ridge_meter *meter, size_t slice, ridge_rung *rung);

/* All four rates at a working set of `slice` bytes a thread (n = 0 for motions that this architecture lacks), by the
 * best of all movers: `finalists` of each motion (at most 3) are measured for `rounds` rounds. */
void ridge_meter_level(ridge_meter *meter, size_t slice, int finalists, int rounds, ridge_level *level);

/* Every peak loop that can run here whose dtype is `dtype` (NULL: any), in order of the tables; loops that share a name
 * are merged into the fastest. Loops whose sums come out wrong are left out and named in `wrong`. Returns how many
 * peaks. */
int ridge_meter_peaks(ridge_meter *meter, const char *dtype, int rounds, ridge_peak peaks[RIDGE_MAX_PEAKS], char *wrong,
                      int size);

#endif
