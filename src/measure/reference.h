/* Moving a case's least bytes by plain loops, to see what memory gives while the kernels run. */
#ifndef RIDGE_MEASURE_REFERENCE_H
#define RIDGE_MEASURE_REFERENCE_H

#include "measure/job.h"

typedef struct ridge_mover_choice {
    ridge_motion_fn read, stream, write;    /* the fastest candidates here */
    size_t copied, only_read, only_written; /* bytes, multiples of 1024 */
} ridge_mover_choice;

/* False when the case needs none: hot, small, compute bound, or without candidates. */
bool ridge_reference_wanted(const ridge_job *job, size_t set_bytes, ridge_mover_choice *choice);

/* Times every candidate once on memory (set_bytes long, cold by its size) and keeps the fastest of each motion. */
void ridge_reference_choose(const ridge_job *job, ridge_team *team, char *memory, ridge_mover_choice *choice);

/* One launch of the reference on a set's memory, whose content is lost. */
void ridge_reference_run(const ridge_mover_choice *choice, ridge_team *team, char *memory);

#endif
