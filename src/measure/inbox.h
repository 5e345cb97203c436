/* What a worker's packets do to a job's result. Untrusted kernels run in the process that sends them, so nothing in a
 * packet is believed before it is checked, and their number is bounded. Internal to measure; fuzzed. */
#ifndef RIDGE_MEASURE_INBOX_H
#define RIDGE_MEASURE_INBOX_H

#include "measure/event.h"

enum { RIDGE_MAX_JOB_VARIANTS = (RIDGE_MAX_SLOTS - 1) / 2 };

typedef struct ridge_inbox {
    ridge_job_result *result;
    bool failed[RIDGE_MAX_JOB_VARIANTS]; /* variants that the next worker leaves out */
    int most_samples;                    /* of one slot */
    int64_t left;                        /* packets that are still accepted */
    bool lost;                           /* the worker lost the GPU and does not know to whom */
    char fault[120];                     /* what is wrong with the stream; "": nothing */
    bool closed;                         /* no more packets are to be read: fault and guilty are final */
    int guilty;                          /* the variant that may be at fault; -1: not known */
} ridge_inbox;

/* For a new worker of the same job, which rotates through `sets` sets. Keeps `failed`. */
void ridge_inbox_open(ridge_inbox *inbox, const ridge_job *job, int sets, ridge_job_result *result);

/* Takes one packet of any content. A packet that is no event sets `fault`; the next event of a variant names who sent
 * it (surely so where each launch is a batch of its own) and closes the inbox. So do more samples of a variant than a
 * job has, and more packets. RIDGE_NO_MEMORY is this process's, or what the worker said of its own. */
ridge_status ridge_inbox_take(ridge_inbox *inbox, const void *packet, size_t size, ridge_error *error);

#endif
