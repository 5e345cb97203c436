/* A saved run as a run again, judged anew from its samples: every table, plot and verdict, without the hardware.
 *
 * What the file says was measured is taken: samples, checks, ceilings, probes. What follows from it (intervals, placements,
 * speedups, verdicts with a time, the summary) is derived again, and has to be what the file says. */
#ifndef RIDGE_RECORD_REPLAY_H
#define RIDGE_RECORD_REPLAY_H

#include "record/record.h"

typedef struct ridge_replay {
    json_t *file; /* the run points to its texts */
    ridge_run run;
    ridge_variant *forced; /* variants of single ways, one for each result */
    char **argv;
    bool intact;     /* the chain holds, and all figures follow from the samples */
    char found[320]; /* if not: what does not, in one line */
} ridge_replay;

/* Takes the reference of the file. RIDGE_CORRUPT: it is no run, or not of this ridge, with the field; RIDGE_NOT_FOUND: it has
 * a target or a variant that this ridge lacks. About 100 KB: too large for a stack. Free in every case. */
ridge_status ridge_replay_run(json_t *file, ridge_replay *replay, ridge_error *error);
void ridge_replay_free(ridge_replay *replay);

#endif
