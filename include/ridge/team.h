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

RIDGE_API int ridge_team_size(ridge_team *team); /* 1 for NULL */

/* Calls body(arg, rank, size) on every member, rank 0 being the caller; returns when all have returned. NULL is a team
 * of one. */
typedef void (*ridge_team_fn)(void *arg, int rank, int size);
RIDGE_API void ridge_team_run(ridge_team *team, ridge_team_fn body, void *arg);

/* As ridge_team_run, but work on fewer bytes is the caller's alone: body(arg, 0, 1), and nobody is woken. Operations
 * that pass through their bytes about as fast as a copy break even there while the helpers spin. Where helpers sleep,
 * waking them takes 25 us, and a second thread pays from 512 KiB on; but later calls then find them awake.
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

/* fork(): the child may use, and destroy, every team of the parent. The first ridge_team_size or ridge_team_run there
 * starts new helpers; where it can start only some, the team is smaller from then on. This holds whatever the helpers
 * did at the fork, also while another thread was inside ridge_team_run: that run is lost in the child, the team is not.
 * Two limits: POSIX lets the child of a process with several threads call only async-signal-safe functions, so that
 * threads in the child are a promise of the C library (glibc and musl keep it); and a body must not fork. */

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
