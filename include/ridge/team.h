/* A team: the calling thread and size-1 helpers, each pinned to a core of its own, that run one function together.
 * The helpers spin for a short while after work so that the next piece starts within a microsecond, then sleep. */
#ifndef RIDGE_TEAM_H
#define RIDGE_TEAM_H

#include <stdint.h>

#include "ridge/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ridge_team ridge_team;

/* threads: 1 or more. cpus: one logical processor a thread, or NULL for no pinning. cpus[0] pins the caller. */
RIDGE_API ridge_status ridge_team_create(int threads, const int *cpus, ridge_team **team, ridge_error *error);
RIDGE_API void ridge_team_destroy(ridge_team *team);

RIDGE_API int ridge_team_size(const ridge_team *team); /* 1 for NULL */

/* Calls body(arg, rank, size) on every member, rank 0 being the caller; returns when all have returned. NULL is a team
 * of one. */
typedef void (*ridge_team_fn)(void *arg, int rank, int size);
RIDGE_API void ridge_team_run(ridge_team *team, ridge_team_fn body, void *arg);

/* Waits until the helpers sleep, so that they take no cycles from a peer library's own threads. */
RIDGE_API void ridge_team_rest(ridge_team *team);

/* The part [*begin, *end) of n items that belongs to rank: contiguous, sizes differ by at most one grain. Use it inside
 * a body: rows are split the same way everywhere, so a thread finds its own rows in its own cache. */
static inline void ridge_share(int64_t n, int64_t grain, int rank, int size, int64_t *begin, int64_t *end) {
    int64_t grains = n / grain + (n % grain != 0);
    int64_t b = grains * rank / size * grain, e = grains * (rank + 1) / size * grain;
    *begin = b < n ? b : n;
    *end = e < n ? e : n;
}

#ifdef __cplusplus
}
#endif
#endif
