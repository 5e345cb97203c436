/* The gate: a run against the expectations of its hardware. Each result that both have gets a verdict, and the worst of them
 * is the gate's. What is not judged (no pair, and measured too seldom) leaves it as it is. */
#ifndef RIDGE_RECORD_GATE_H
#define RIDGE_RECORD_GATE_H

#include "record/diff.h"

/* In order: the later one decides. */
#define RIDGE_GATE_LIST(X)                                                                                         \
    X(UNJUDGED, "not judged")                                                                                      \
    X(PASSED, "passed")             /* shown to be at most RIDGE_GATE_SEEN slower than expected */                 \
    X(INCONCLUSIVE, "inconclusive") /* not slower as far as can be told, which is not enough; or it was skipped */ \
    X(REGRESSION, "regression")     /* slower than expected, or RIDGE_GATE_DRIFT slower than the best ever */      \
    X(INVALID, "invalid")           /* wrong, impossible or failed; or another work model */
typedef enum ridge_gate_verdict {
#define RIDGE_GATE_ENUM(name, text) RIDGE_GATE_##name,
    RIDGE_GATE_LIST(RIDGE_GATE_ENUM)
#undef RIDGE_GATE_ENUM
        RIDGE_GATE_COUNT
} ridge_gate_verdict;
const char *ridge_gate_name(ridge_gate_verdict verdict);

/* A slowdown of this much has to be excluded for `passed`, and this much since the best ever is a regression. */
#define RIDGE_GATE_SEEN 0.10
#define RIDGE_GATE_DRIFT 0.10

typedef struct ridge_gate_line {
    const ridge_diff_line *now; /* expected against this run */
    ridge_interval since_best;  /* time / time of the best ever accepted; n = 0: not judged */
    double detectable; /* the least slowdown that this run's intervals would have shown, 0.05: 5 %; NaN: none */
    ridge_gate_verdict verdict;
    char reason[240]; /* one line; "" when passed or not judged */
} ridge_gate_line;

typedef struct ridge_gate {
    ridge_diff now, ever; /* this run against what is expected, and against the best */
    ridge_gate_line *line;
    int n, unexpected; /* results of this run without expectations */
    int count[RIDGE_GATE_COUNT];
    ridge_gate_verdict verdict;
    char reason[240]; /* of a verdict that no line has; else "" */
} ridge_gate;

/* Judges a run. Errors: RIDGE_CORRUPT expectations, RIDGE_INVALID hardware, RIDGE_NO_MEMORY. A run that has nothing in
 * common with the expectations is inconclusive. Free in every case. */
ridge_status ridge_gate_check(const json_t *expectations, const ridge_run *run, ridge_gate *gate, ridge_error *error);
void ridge_gate_free(ridge_gate *gate);

json_t *ridge_json_gate(const ridge_gate *gate);

#endif
