/* Placement of a measured time on the roofline, and verdicts. */
#ifndef RIDGE_ROOFLINE_PLACE_H
#define RIDGE_ROOFLINE_PLACE_H

#include "machine/ceilings/ceilings.h"

/* ok: verified, timed, within the physical limits. wrong: a sample failed its check. impossible: more than 3 % faster
 * than the floor (bytes / bandwidth or FLOP / peak), so the ceiling or the work model is wrong. frame-dominated: the
 * time is too short compared with the cost of an empty launch. inconclusive: too few samples for an interval, or an
 * interval wider than 5 %. skipped: cannot run here. failed: crashed, timed out, or ran out of memory. emulated:
 * verified, but on an emulated device, whose times mean nothing. */
#define RIDGE_VERDICT_LIST(X)       \
    X(OK, "ok")                     \
    X(WRONG, "wrong")               \
    X(IMPOSSIBLE, "impossible")     \
    X(FRAME, "frame-dominated")     \
    X(INCONCLUSIVE, "inconclusive") \
    X(SKIPPED, "skipped")           \
    X(FAILED, "failed")             \
    X(EMULATED, "emulated")
typedef enum ridge_verdict {
#define RIDGE_VERDICT_ENUM(name, text) RIDGE_VERDICT_##name,
    RIDGE_VERDICT_LIST(RIDGE_VERDICT_ENUM)
#undef RIDGE_VERDICT_ENUM
        RIDGE_VERDICT_COUNT
} ridge_verdict;
const char *ridge_verdict_name(ridge_verdict verdict);

/* True for verdicts with a valid time: ok, frame-dominated, inconclusive. */
bool ridge_verdict_timed(ridge_verdict verdict);

typedef struct ridge_placement {
    double intensity;         /* FLOP/byte */
    double ridge_point;       /* FLOP/byte above which work is compute-bound on this machine */
    double attainable_gflops; /* min(compute ceiling, intensity x bandwidth ceiling) */
    double floor_us;          /* minimum time: max(bytes / bandwidth, FLOP / peak) */
    bool memory_bound;
    char binding[32];    /* "DRAM stream", "DRAM read", "L2 copy+read", "fp32 avx512"; "": no ceiling */
    double gflops, gbps; /* achieved */
    double pct_measured; /* of the binding ceiling */
} ridge_placement;

/* Places a time. The bandwidth ceiling follows from bytes_read and bytes_written: paired bytes use the faster of `copy`
 * and `stream`, the excess uses `read` or `write`. hot: the cache level that holds the working set, instead of DRAM.
 * dtype: type of the arithmetic, "fp32". If time_us <= 0 (not measured), gflops, gbps and pct_measured are 0. No field
 * is NaN; intensity is infinite for work that moves no bytes. */
void ridge_place(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot, const char *dtype,
                 ridge_placement *placement);

/* The same for emulated products: each multiplication takes `products` multiplications of `dtype`. The compute ceiling
 * is the peak / `products`; `binding` names it "fp16 wgmma x3". */
void ridge_place_products(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot,
                          const char *dtype, int products, ridge_placement *placement);

/* Minimum time at the best rate measured at that level (read, copy, stream or write); used for `impossible`. */
double ridge_floor_us(const ridge_work *work, const ridge_ceilings *ceilings, bool hot, const char *dtype);

#endif
