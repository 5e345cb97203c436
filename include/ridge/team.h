/* A team is a thread pool: the calling thread and size-1 helpers run one function together, each on its own core. After
 * work the helpers spin for about 200 us, so that the next call starts within 1 us; then they sleep. */
#ifndef RIDGE_TEAM_H
#define RIDGE_TEAM_H

#include <stdint.h>

#include "ridge/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ridge_team ridge_team;

/* threads: at least 1. cpus: one logical processor per thread, or NULL for no pinning. cpus[0] pins the caller. Errors:
 * RIDGE_INVALID, RIDGE_NO_MEMORY, RIDGE_FAILED (a thread did not start). */
RIDGE_API ridge_status ridge_team_create(int threads, const int *cpus, ridge_team **team, ridge_error *error);
RIDGE_API void ridge_team_destroy(ridge_team *team);

RIDGE_API int ridge_team_size(ridge_team *team); /* 1 for NULL */

/* Calls body(arg, rank, size) on every member and returns when all have returned. The caller has rank 0. A NULL team
 * runs on the caller alone. */
typedef void (*ridge_team_fn)(void *arg, int rank, int size);
RIDGE_API void ridge_team_run(ridge_team *team, ridge_team_fn body, void *arg);

/* As ridge_team_run, but work on fewer than RIDGE_TEAM_ALONE_BYTES bytes runs on the caller alone: body(arg, 0, 1), no
 * helper is woken. Operations at copy speed break even at this size while the helpers spin. Waking sleeping helpers
 * takes 25 us, so a second thread then pays off from 512 KiB; later calls find the helpers awake.
 *
 *   us on 1 and on 2 threads (Zen 4, 2 cores of a VM; columns: 64; 10th percentile of 900 calls, of 100 with sleepers)
 *   KiB                      2            8           32           64          128          512
 *   vertical_fusion   0.2  1.6     0.4  1.5     1.1  0.9     2.2  1.5     3.9  3.8      16   10
 *   fused_l2norm      0.1  1.3     0.3  1.4     1.0  2.0     2.5  2.6     5.0  3.8      20   12
 *   online_softmax    0.3  1.5     0.6  1.6     2.9  2.8     4.1  3.6     8.0  6.1      44   23
 *   norm_activation   0.3  1.4     1.1  1.8     3.9  3.5     7.7  5.3    14.7  8.9      61   31
 *   norm_activation,
 *   helpers asleep    1.4   25     2.7   37     4.4   34     9.7   35    17.5   39      62   58 */
#define RIDGE_TEAM_ALONE_BYTES 65536.0
RIDGE_API void ridge_team_run_sized(ridge_team *team, double bytes, ridge_team_fn body, void *arg);

/* fork(): the child may use and destroy every team of the parent. The first ridge_team_size or ridge_team_run in the
 * child starts new helpers. If some cannot start, the team stays smaller. The helpers may be in any state at the fork.
 * If another thread is inside ridge_team_run, that run is lost in the child, but the team remains usable. Two limits:
 * POSIX lets the child of a multithreaded process call only async-signal-safe functions, so threads in the child depend
 * on the C library (glibc and musl support them); and a body must not fork. */

/* Waits until the helpers sleep, so that they take no CPU time from the threads of a peer library. */
RIDGE_API void ridge_team_rest(ridge_team *team);

/* The contiguous part [*begin, *end) of n items for `rank`. Sizes differ by at most one grain. Every body divides rows
 * this way, so a thread finds its rows in its own cache. */
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
