/* Two saved runs beside each other: what became faster, slower, or worse. Works on the JSON of runs alone: nothing has to
 * be measured, and targets need not exist any more.
 *
 * Results are matched by target, case, backend, variant, instruction set, threads and mode. The change is time after over
 * time before. An optimized variant with a pair over the same baseline in both runs is judged by the ratio of the two
 * speedups: what slowed both sides of a pair cancels. Others are judged by their times, if both runs measured them three
 * times or more (--repeat); else nothing is known of what lies between processes, and the change is told, not judged. */
#ifndef RIDGE_RECORD_DIFF_H
#define RIDGE_RECORD_DIFF_H

#include "record/record.h"

#define RIDGE_CHANGE_LIST(X)                                                                 \
    X(FASTER, "faster")                                                                      \
    X(SAME, "open") /* the interval holds 1, or comes closer than RIDGE_DIFF_MARGIN */       \
    X(SLOWER, "slower")                                                                      \
    X(TOLD, "not judged")  /* no pair, and measured too seldom */                            \
    X(BROKEN, "broken")    /* had a time and has none: wrong, failed, impossible, skipped */ \
    X(MENDED, "mended")    /* has a time and had none */                                     \
    X(OTHER, "other work") /* FLOP or bytes of the case are not the same: times say nothing */
typedef enum ridge_change {
#define RIDGE_CHANGE_ENUM(name, text) RIDGE_CHANGE_##name,
    RIDGE_CHANGE_LIST(RIDGE_CHANGE_ENUM)
#undef RIDGE_CHANGE_ENUM
        RIDGE_CHANGE_COUNT
} ridge_change;
const char *ridge_change_name(ridge_change change);

/* Intervals of single processes miss the next one's median more often than they say: a change counts from here on. With
 * three measurements on both sides there is no margin. */
#define RIDGE_DIFF_MARGIN 0.03

typedef struct ridge_diff_line {
    const char *target, *c, *backend, *variant; /* texts of the first run's JSON */
    ridge_interval before, after;               /* times in µs; n = 0: none */
    ridge_interval change;                      /* time after / time before; n = 0: a side has no time */
    bool paired;                                /* by speedups over the same baseline */
    ridge_change verdict;
    const json_t *was, *is; /* the results */
} ridge_diff_line;

typedef struct ridge_diff {
    json_t *a, *b; /* the runs */
    ridge_diff_line *line;
    int n;
    int only_a, only_b; /* results that the other run lacks */
    int count[RIDGE_CHANGE_COUNT];
} ridge_diff;

/* Takes both references, also after an error. RIDGE_CORRUPT: not a run; RIDGE_INVALID: runs of different machines, or with
 * no result in common. Free in every case. */
ridge_status ridge_diff_runs(json_t *a, json_t *b, ridge_diff *diff, ridge_error *error);
void ridge_diff_free(ridge_diff *diff);

json_t *ridge_json_diff(const ridge_diff *diff);

#endif
