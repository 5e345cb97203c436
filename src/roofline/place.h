/* Where a measured time stands on the roofline, and what may be said of it. */
#ifndef RIDGE_ROOFLINE_PLACE_H
#define RIDGE_ROOFLINE_PLACE_H

#include "machine/ceilings.h"

/* ok: verified, timed, within the physical limits. wrong: a sample failed its check. impossible: faster than the floor
 * of bytes over bandwidth or FLOP over peak allows by more than 3 %: the ceiling or the work model is at fault.
 * frame-dominated: the call itself is too short against the cost of calling and timing. inconclusive: too few samples
 * for an interval, or one wider than 5 %. skipped: cannot run here. failed: crashed, timed out, ran out of memory. */
#define RIDGE_VERDICT_LIST(X)       \
    X(OK, "ok")                     \
    X(WRONG, "wrong")               \
    X(IMPOSSIBLE, "impossible")     \
    X(FRAME, "frame-dominated")     \
    X(INCONCLUSIVE, "inconclusive") \
    X(SKIPPED, "skipped")           \
    X(FAILED, "failed")
typedef enum ridge_verdict {
#define RIDGE_VERDICT_ENUM(name, text) RIDGE_VERDICT_##name,
    RIDGE_VERDICT_LIST(RIDGE_VERDICT_ENUM)
#undef RIDGE_VERDICT_ENUM
        RIDGE_VERDICT_COUNT
} ridge_verdict;
const char *ridge_verdict_name(ridge_verdict verdict);

/* Whether a time may be shown beside it: ok, frame-dominated, inconclusive. The others have none to show. */
bool ridge_verdict_timed(ridge_verdict verdict);

typedef struct ridge_placement {
    double intensity;         /* FLOP/byte */
    double ridge_point;       /* FLOP/byte at which this machine turns compute bound */
    double attainable_gflops; /* min(compute ceiling, intensity x bandwidth ceiling) */
    double floor_us;          /* least time: max(bytes / bandwidth, FLOP / peak) */
    bool memory_bound;
    char binding[32];    /* "DRAM stream", "DRAM read", "L2 copy+read", "fp32 avx512"; "" without any ceiling */
    double gflops, gbps; /* reached */
    double pct_measured; /* of the binding ceiling */
} ridge_placement;

/* bytes_read and bytes_written decide the bandwidth ceiling: as many bytes in as out take the better of `copy` and
 * `stream`, what is read or written beyond that takes `read` or `write`. hot: the level that holds the working set,
 * instead of DRAM. dtype: the arithmetic's, "fp32". A time that is not positive (nothing was measured) leaves gflops,
 * gbps and pct_measured at 0. Nothing is ever NaN; intensity is infinite for work that moves no bytes. */
void ridge_place(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot, const char *dtype,
                 ridge_placement *placement);

/* The same for work whose every multiplication takes `products` of that type: at the peak's rate over `products`, which
 * `binding` says: "fp16 wgmma x3". */
void ridge_place_products(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot,
                          const char *dtype, int products, ridge_placement *placement);

/* Least time that any rate measured at that level allows (best of read, copy, stream and write), for `impossible`. */
double ridge_floor_us(const ridge_work *work, const ridge_ceilings *ceilings, bool hot, const char *dtype);

#endif
