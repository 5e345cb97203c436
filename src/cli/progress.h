/* Progress on stderr: a bar with an ETA on a terminal; elsewhere whole lines, for the first step and then at most one
 * every ten seconds, or every five of what lasts for long. */
#ifndef RIDGE_CLI_PROGRESS_H
#define RIDGE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ridge_progress {
    bool terminal;
    int done, total; /* steps */
    double share;    /* of the current step, 0 … 1 */
    char what[120], doing[120];
    uint64_t began_ns, drawn_ns;
    uint64_t ends_ns; /* no ETA is later; 0: no limit */
} ridge_progress;

void ridge_progress_begin(ridge_progress *p, int total);
void ridge_progress_step(ridge_progress *p, const char *what); /* the next step starts */
/* Of the current step; what it does, if that lasts, or NULL. */
void ridge_progress_share(ridge_progress *p, double share, const char *doing);
void ridge_progress_end(ridge_progress *p); /* clears the bar */

#endif
