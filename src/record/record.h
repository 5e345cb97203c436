/* A run is the record of one invocation: machine, ceilings, results with every raw sample and its seed, pairs. Every
 * table can be rebuilt from it. docs/METRICS.md documents the JSON; its field names are an interface. */
#ifndef RIDGE_RECORD_RECORD_H
#define RIDGE_RECORD_RECORD_H

#include <jansson.h>

#include "machine/doctor/doctor.h"
#include "measure/job.h"
#include "record/profile.h"
#include "roofline/budget.h"
#include "roofline/place.h"

#define RIDGE_SCHEMA "ridge-run/2"

/* One figure of several whole measurements (--repeat): each with its own interval, and what lies between them. */
typedef struct ridge_repeats {
    int n; /* 0: measured once */
    ridge_interval each[RIDGE_MAX_MEASUREMENTS];
    ridge_interval between; /* geometric mean of their medians, and its interval by Student's t */
} ridge_repeats;

typedef struct ridge_result {
    const ridge_target *target;
    ridge_case c;
    const ridge_variant *variant;
    ridge_isa isa;
    ridge_abilities here; /* what it was chosen and placed for */
    const ridge_way *way; /* the one that ran; NULL: the variant has none, or did not run */
    ridge_verdict verdict;
    char reason[240]; /* one line; "" when ok */
    ridge_stop stop;
    ridge_sample *samples;
    int n_samples;
    ridge_interval time_us;
    ridge_work work;
    ridge_placement place;
    ridge_check check;      /* the full check and the worst of all samples' checks */
    ridge_interval of_copy; /* time of a copy of the least bytes / this time, paired; n = 0: not measured */
    ridge_interval of_core; /* time with operands in cache / this time, paired */
    double frame_us;        /* cost of an empty launch, measured the same way */
    /* GPU only; 0, or n = 0, where unknown. */
    ridge_interval graph_us;               /* time of a launch inside a captured graph; operands rotate as in time_us */
    double event_floor_us, graph_floor_us; /* an empty kernel between two events, and inside a graph */
    double sm_mhz, power_w;                /* medians over the samples */
    double dram_read, dram_written;        /* bytes of one launch by the GPU's counters (--profile); 0: not counted */
    int first_profile, n_profiles;         /* of its kernels, in run->profiles (--profile full) */
    int throttled_samples;                 /* taken while the GPU throttled its clock for heat or power; kept */
    ridge_repeats repeats;                 /* of the judged time */
    bool cut;                              /* settings.within gave it less time than settings.max_time */
    ridge_sample *companion;               /* of the series beside it (measure/job.h), for replay; NULL: none */
    int n_companion;
    int measured; /* index of what its case shares into run->measured; -1: nothing was measured */
} ridge_result;

/* What the results of one case share: with the samples, all that verdicts are derived from. */
typedef struct ridge_measured {
    ridge_sample *reference;
    int n_reference;
    int n_measurements, first_round[RIDGE_MAX_MEASUREMENTS];
} ridge_measured;

typedef struct ridge_pair {
    int a, b;                    /* indices into results: baseline (or peer), optimized */
    ridge_interval speedup;      /* time of a / time of b */
    ridge_repeats repeats;       /* of the speedup */
    double traffic_a, traffic_b; /* bytes moved: counted, or by the variant's model with write-allocation */
    bool counted;                /* both traffics are from the GPU's counters */
    bool compared, agree;        /* outputs compared on identical inputs; they agree within the sum of their bounds */
    double max_difference;       /* largest |a - b| */
    double equal_fraction;       /* elements that agree bit for bit */
} ridge_pair;

typedef struct ridge_settings {
    int threads;
    bool hot;
    uint64_t seed;
    double max_time;               /* seconds per case */
    double noise;                  /* half of an interval over its median at which a case ends */
    double within;                 /* seconds of the whole run; 0: no limit */
    int iterations;                /* 0: decided by the stop rule */
    int repeat;                    /* whole measurements of each case */
    int warmup;                    /* rounds of each case before the timed ones */
    const char *prepare, *cleanup; /* commands around each case; NULL: none */
    const char *peers;             /* versions of the libraries of peers in Python; NULL: none were asked for */
    bool user_inputs;              /* some inputs came from files */
    int argc;
    char **argv;
} ridge_settings;

typedef struct ridge_run {
    char date[32];
    ridge_settings settings;
    ridge_machine machine;
    ridge_ceilings ceilings;     /* the reference of percentages: the CPU's … */
    ridge_ceilings gpu_ceilings; /* … and the GPU's, when has_gpu */
    bool has_gpu;
    ridge_level dram_before, dram_after; /* probes around the measurements; n = 0 where not made */
    ridge_peak fp32_before, fp32_after;
    ridge_result *results;
    int n_results;
    ridge_pair *pairs;
    int n_pairs;
    ridge_measured *measured;
    int n_measured;
    ridge_profile *profiles; /* of all results, in their order; NULL: none */
    int n_profiles;
    ridge_rates rates; /* with which CPU ways were chosen */
    /* Conditions of the machine that affect these numbers, found before and after the measurements. */
    ridge_finding findings[RIDGE_MAX_FINDINGS];
    int n_findings;
    ridge_budget budget; /* of its cases, in their order */
    double wall_s;
    bool interrupted; /* ended before its last case: by a signal, or by a hook that failed */
} ridge_run;

/* Result of `ridge verify` for one variant and one case. */
typedef struct ridge_verified {
    const ridge_target *target;
    ridge_case c;
    const ridge_variant *variant;
    ridge_isa isa;
    bool all_cases;      /* the verdict is of the variant, whatever the case */
    const char *way;     /* that ran; "" or NULL: the variant has none, "several": not always the same */
    const char *verdict; /* "ok", "wrong", "failed", "skipped": nothing ran; "not run": a way that no case ran */
    const char *reason;  /* "" when ok */
    int runs;            /* 0: nothing was checked */
    double worst; /* as in ridge_check; infinite for a NaN, a poisoned element, or any error where none is permitted */
    uint64_t digest; /* of all outputs of all runs */
} ridge_verified;

/* Result of `ridge verify --mutants` for one mutant and one target. */
typedef struct ridge_mutation {
    const ridge_target *target;
    const char *mutant;
    int applied;         /* number of outputs that it broke */
    const char *verdict; /* "caught", "passed", "not applicable"; "too few" for all mutants together */
    const char *reason;  /* why it passed; else "" */
} ridge_mutation;

void ridge_run_free(ridge_run *run); /* frees what it owns, not the struct */

/* Whether the verdict is an error of the variant or of what it is compared with: wrong, impossible, failed. */
bool ridge_verdict_is_error(ridge_verdict verdict);

/* Add to run->findings. look_before: what ridge doctor reports as bad. look_after: what changed during the measurements
 * (memory and arithmetic rates between the probes, a GPU's clock). Findings that cannot affect a timed result are
 * omitted. */
void ridge_run_look_before(ridge_run *run, bool cpu, bool gpu);
void ridge_run_look_after(ridge_run *run);
void ridge_run_add_finding(ridge_run *run, const ridge_finding *finding);

/* Ceilings for variants of the backend. Has no levels and peaks if they were not measured. */
const ridge_ceilings *ridge_run_ceilings(const ridge_run *run, ridge_backend backend);
/* Whether the run has a roofline of the backend: results and ceilings. A run without results has the CPU's. */
bool ridge_run_draws(const ridge_run *run, ridge_backend backend);

/* "1024x1024x100" or "4096x4096/bf16" (storage type named when not f32), then column-major tensors and the options that
 * differ from the defaults: ",w^T,activation=gelu". RIDGE_CASE_NAME bytes hold every name. */
enum { RIDGE_CASE_NAME = 256 };
void ridge_case_name(const ridge_target *target, const ridge_case *c, char *name, int size);

double ridge_drift_pct(ridge_interval before, ridge_interval after); /* NaN when one was not measured */

/* ---- what a run proves ------------------------------------------------------------------------------------------- */

/* A pair's verdict: what its paired interval says of the optimized variant, and with three measurements or more the
 * interval between them, too. open: one of them holds 1, or the rounds are too few for one. untimed: a side has no
 * time. */
#define RIDGE_PROOF_LIST(X) \
    X(FASTER, "faster")     \
    X(OPEN, "open")         \
    X(SLOWER, "slower")     \
    X(UNTIMED, "untimed")
typedef enum ridge_proof {
#define RIDGE_PROOF_ENUM(name, text) RIDGE_PROOF_##name,
    RIDGE_PROOF_LIST(RIDGE_PROOF_ENUM)
#undef RIDGE_PROOF_ENUM
        RIDGE_PROOF_COUNT
} ridge_proof;
const char *ridge_proof_name(ridge_proof proof);
ridge_proof ridge_pair_proof(const ridge_run *run, const ridge_pair *pair);

/* Whether an optimized variant is proven slower than its baseline; then what the finding says. */
bool ridge_pair_finding(const ridge_run *run, const ridge_pair *pair, ridge_finding *finding);

/* Half of the distance between the smallest and the largest of the measurements' medians, over the mean; NaN: measured
 * once. */
double ridge_repeats_spread(const ridge_repeats *repeats);

/* Half of the judged time's interval over its median; NaN: untimed, infinite: too few samples for an interval. */
double ridge_result_noise(const ridge_result *result);

/* A value over several results or pairs; n = 0: there is none. */
typedef struct ridge_spread {
    double median, low, high;
    int lowest, highest; /* indices of the results or pairs that have low and high */
    int n;
} ridge_spread;

/* The figures of the closing lines. Pairs are those of a baseline: peers are not counted. */
typedef struct ridge_summary {
    int verdicts[RIDGE_VERDICT_COUNT]; /* of results */
    int pairs[RIDGE_PROOF_COUNT];
    int cases, launches;  /* cases of a target on a backend that have a time; launches that were timed and checked */
    double worst;         /* largest error over the permitted one, of what was verified */
    ridge_spread speedup; /* of pairs with an interval */
    ridge_spread ceiling; /* share that the optimized variants reach, in per cent */
    ridge_spread noise;   /* of timed results with an interval */
    ridge_spread repeats; /* spreads between whole measurements, of timed results */
    int too_few;          /* timed results without one */
} ridge_summary;
void ridge_run_summarize(const ridge_run *run, ridge_summary *summary);

/* JSON; each returns a new reference or NULL when memory is out. NaN and infinities become null. */
json_t *ridge_json_run(const ridge_run *run);
json_t *ridge_json_result(const ridge_result *result);
json_t *ridge_json_scaling(const ridge_run *run); /* of record/scaling.h */
json_t *ridge_json_pair(const ridge_run *run, const ridge_pair *pair);
json_t *ridge_json_ceilings(const ridge_ceilings *c);
json_t *ridge_json_gpu_ceilings(const ridge_gpu *gpu, const ridge_ceilings *c); /* includes the datasheet's figures */
json_t *ridge_json_findings(const ridge_finding *findings, int n);
json_t *ridge_json_machine(const ridge_machine *machine);
json_t *ridge_json_interval(ridge_interval interval);                                /* {median, ci_low, ci_high, n} */
json_t *ridge_json_verified(const ridge_verified *v);                                /* for verify --json */
json_t *ridge_json_mutation(const ridge_mutation *m);                                /* for verify --mutants --json */
json_t *ridge_json_target(const ridge_target *target, const ridge_machine *machine); /* for list --json */

/* Writes text to path, whole or not at all (device/file.h). "-" is standard output; a closed pipe there is no error. */
ridge_status ridge_write_file(const char *path, const char *text, size_t size, ridge_error *error);
ridge_status ridge_write_json(const char *path, const json_t *json,
                              ridge_error *error); /* does not take the reference */

#endif
