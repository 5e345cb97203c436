/* The reference: plain loops that move a case's minimum bytes, to measure the bandwidth available in the same
 * rounds. */
#ifndef RIDGE_MEASURE_REFERENCE_H
#define RIDGE_MEASURE_REFERENCE_H

#include "measure/job.h"

typedef struct ridge_mover_choice {
    ridge_motion_fn read, stream, write;    /* the fastest candidates here */
    size_t copied, only_read, only_written; /* bytes, multiples of 1024 */
} ridge_mover_choice;

/* False if the case has no reference: hot operands, few bytes, compute-bound, or no candidate loops. */
bool ridge_reference_wanted(const ridge_job *job, size_t set_bytes, ridge_mover_choice *choice);

/* Times every candidate once on `memory` (set_bytes long, larger than the caches) and keeps the fastest of each
 * kind. */
void ridge_reference_choose(const ridge_job *job, ridge_team *team, char *memory, ridge_mover_choice *choice);

/* One launch of the reference on an operand set's memory. Overwrites the set. */
void ridge_reference_run(const ridge_mover_choice *choice, ridge_team *team, char *memory);

#endif
