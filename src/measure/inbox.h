/* Applies a worker's packets to a job's result. The worker runs untrusted kernels, so every field of a packet is
 * validated and the number of packets is bounded. Internal to measure; fuzzed. */
#ifndef RIDGE_MEASURE_INBOX_H
#define RIDGE_MEASURE_INBOX_H

#include "measure/event.h"

enum { RIDGE_MAX_JOB_VARIANTS = (RIDGE_MAX_SLOTS - 1) / 2 };

typedef struct ridge_inbox {
    ridge_job_result *result;
    bool failed[RIDGE_MAX_JOB_VARIANTS]; /* variants that the next worker does not run */
    int most_samples;                    /* limit per slot */
    int64_t left;                        /* number of packets still accepted */
    bool lost;                           /* the worker lost the GPU and does not know the slot */
    char fault[120];                     /* error of the packet stream; "": none */
    bool closed;                         /* reading has ended: fault and guilty are final */
    int guilty;                          /* the suspected variant; -1: not known */
} ridge_inbox;

/* Prepares for a new worker of the same job, which rotates through `sets` operand sets. Keeps `failed`. */
void ridge_inbox_open(ridge_inbox *inbox, const ridge_job *job, int sets, ridge_job_result *result);

/* Takes one packet of any content. A malformed packet sets `fault`; the next event of a variant then sets `guilty` and
 * closes the inbox. (The guess is certain if each batch holds one launch.) Too many samples of a variant and too many
 * packets also close it. RIDGE_NO_MEMORY: this process or the worker is out of memory. */
ridge_status ridge_inbox_take(ridge_inbox *inbox, const void *packet, size_t size, ridge_error *error);

#endif
