/* The lab as library calls: variants of one case, measured as `ridge run` measures them. Every launch is checked
 * against the fp64 oracle, launches are interleaved, operands are cold, and a time is placed on the roofline of this
 * machine.
 *
 *     ridge_bench *bench;
 *     const ridge_case c = {.dim = {4096, 1024}, .dtype = RIDGE_F32};
 *     ridge_status status = ridge_bench_open(RIDGE_BACKEND_cpu, NULL, &bench, &error);
 *     if (!status) status = ridge_bench_run(bench, ridge_target_find("fused_l2norm"), &c, NULL, 0, &error);
 *
 * The functions are in libridge (pkg-config ridge, CMake's ridge::ridge), not in libridge_ops. Measuring forks worker
 * processes: the calling process must not have initialized CUDA and should have no other threads. */
#ifndef RIDGE_BENCH_H
#define RIDGE_BENCH_H

#include <signal.h>

#include "ridge/target.h"
#include "ridge/tuned.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is said of a measurement ------------------------------------------------------------------------------- */

/* A median and its 99 % interval. */
typedef struct ridge_interval {
    double median;
    double low, high; /* NaN if n is too small */
    int n;            /* samples; 0: not measured */
} ridge_interval;

/* ok: verified, timed, within the physical limits; the interval of the time says how noisy it is. wrong: a sample
 * failed its check. impossible: more than 3 % faster than the floor (bytes / bandwidth or FLOP / peak), so the ceiling
 * or the work model is wrong. frame-dominated: the time is too short compared with the cost of an empty launch.
 * skipped: cannot run here. failed: crashed, timed out, or ran out of memory. emulated: verified, but on an emulated
 * device, whose times mean nothing. */
#define RIDGE_VERDICT_LIST(X)   \
    X(OK, "ok")                 \
    X(WRONG, "wrong")           \
    X(IMPOSSIBLE, "impossible") \
    X(FRAME, "frame-dominated") \
    X(SKIPPED, "skipped")       \
    X(FAILED, "failed")         \
    X(EMULATED, "emulated")
typedef enum ridge_verdict {
#define RIDGE_VERDICT_ENUM(name, text) RIDGE_VERDICT_##name,
    RIDGE_VERDICT_LIST(RIDGE_VERDICT_ENUM)
#undef RIDGE_VERDICT_ENUM
        RIDGE_VERDICT_COUNT
} ridge_verdict;
RIDGE_API const char *ridge_verdict_name(ridge_verdict verdict);

/* True for verdicts with a valid time: ok and frame-dominated. */
RIDGE_API bool ridge_verdict_timed(ridge_verdict verdict);

/* The place on the roofline. No field is NaN. */
typedef struct ridge_placement {
    double intensity;         /* FLOP/byte; infinite for work that moves no bytes */
    double ridge_point;       /* FLOP/byte above which work is compute-bound on this machine */
    double attainable_gflops; /* min(compute ceiling, intensity x bandwidth ceiling) */
    double floor_us;          /* minimum time: max(bytes / bandwidth, FLOP / peak) */
    bool memory_bound;
    char binding[32];    /* "DRAM stream", "DRAM read", "L2 copy+read", "fp32 avx512"; "": no ceiling */
    double gflops, gbps; /* achieved; 0: no time */
    double pct_measured; /* of the binding ceiling */
} ridge_placement;

/* One variant. */
typedef struct ridge_bench_result {
    const char *variant; /* as it was named */
    ridge_role role;
    const char *way; /* the kernel that the variant chose; NULL: it has no ways */
    ridge_verdict verdict;
    const char *reason;      /* one line; "" for ok */
    ridge_interval time_us;  /* a launch; n = 0 unless ridge_verdict_timed(verdict) */
    ridge_interval graph_us; /* GPU: a launch inside a captured graph, likewise */
    ridge_work work;
    ridge_placement place; /* all 0 unless it was timed; impossible: gflops, gbps and pct_measured are 0 */
    double worst; /* largest error over all checks as a fraction of the permitted one; 0: nothing was checked */
} ridge_bench_result;

/* An optimized variant beside a baseline or a peer, in the same rounds. */
typedef struct ridge_bench_pair {
    int reference, optimized; /* of the results */
    ridge_interval speedup;   /* time of the reference / time of the optimized one, paired; n = 0: one has no time */
    bool agree;               /* their outputs were compared, and agree within the sum of their bounds */
} ridge_bench_pair;

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* All zero: as `ridge run` without options, whose first seed is 1. */
typedef struct ridge_bench_settings {
    int threads;              /* of CPU variants; 0: one per core */
    bool hot;                 /* operands in cache; false: cold */
    bool refresh;             /* ceilings are measured even if a file has them */
    uint64_t seed;            /* first seed of the inputs */
    double max_time;          /* seconds of rounds in a run; 0: 2 */
    int iterations;           /* rounds in a run; 0: decided by the stop rule */
    const ridge_tuned *tuned; /* measured ways come before predicted ones; NULL: none. Must outlive the bench */
    const volatile sig_atomic_t *interrupted;  /* non-zero ends a run with RIDGE_INTERRUPTED; may be NULL */
    void (*note)(void *arg, const char *line); /* receives what the lab has to say; may be NULL */
    void *arg;
} ridge_bench_settings;

typedef struct ridge_bench ridge_bench;

/* A bench for the variants of one backend on this machine. settings NULL: all zero. RIDGE_UNSUPPORTED: there is no GPU
 * to use. RIDGE_INVALID: more threads than the machine has. *bench is NULL after an error. */
RIDGE_API ridge_status ridge_bench_open(ridge_backend backend, const ridge_bench_settings *settings,
                                        ridge_bench **bench, ridge_error *error);
RIDGE_API void ridge_bench_close(ridge_bench *bench); /* NULL: does nothing */

/* Measures the named variants ("cpu/optimized", or one way of it: "cpu/optimized:fused") beside each other; variants
 * NULL: all of the backend. The target may be the program's own. c's type is that of one of the target's cases, its
 * options start from ridge_target_options. The first run reads the machine's ceilings from the user's cache, or
 * measures them, which takes 10 s on a CPU, and keeps them there.
 *
 * A variant that is wrong, crashes, hangs or cannot run here has that verdict, and the run is RIDGE_OK.
 * RIDGE_NOT_FOUND: the target has no such variant. RIDGE_INVALID: the target refuses the shape, or it exceeds the
 * memory. After an error there are no results. */
RIDGE_API ridge_status ridge_bench_run(ridge_bench *bench, const ridge_target *target, const ridge_case *c,
                                       const char *const *variants, int n_variants, ridge_error *error);

/* Of the last run, in the order of its variants; valid until the next one. */
RIDGE_API const ridge_bench_result *ridge_bench_results(const ridge_bench *bench, int *n);
RIDGE_API const ridge_bench_pair *ridge_bench_pairs(const ridge_bench *bench, int *n);

/* Writes the record of the last run, with every sample, as JSON: the file of `ridge run --json`. RIDGE_INVALID: there
 * is no run. */
RIDGE_API ridge_status ridge_bench_write(const ridge_bench *bench, const char *path, ridge_error *error);

#ifdef __cplusplus
}
#endif
#endif
