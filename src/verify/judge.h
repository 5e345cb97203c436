/* Compares outputs with the oracle element by element. Internal to verify. */
#ifndef RIDGE_VERIFY_JUDGE_H
#define RIDGE_VERIFY_JUDGE_H

#include "verify/problem.h"

typedef struct ridge_judgement {
    bool until_bad;                 /* asked for: what follows the first element out of bounds need not be judged */
    double worst, max_abs, max_rel; /* as in ridge_check */
    bool bad;
    int output;      /* the first element out of bounds */
    int64_t element; /* row-major index */
    double got, want, tolerance;
} ridge_judgement;

/* Judges the outputs whose first dimension is `lead` and updates *judgement. rows: n_rows distinct row numbers, or NULL
 * for all n_rows rows. */
ridge_status ridge_judge(const ridge_operands *ops, int lead, const int64_t *rows, int64_t n_rows, ridge_team *team,
                         ridge_judgement *judgement, ridge_error *error);

/* The target's bound for an output of type `dtype`, and in it what subnormal results cost (see ridge_bound). Whoever
 * needs a bound asks here. */
void ridge_judge_bound(const ridge_target *target, const ridge_oracle_call *call, ridge_fill_kind kind, int output,
                       ridge_dtype dtype, ridge_bound *bound);

/* True if `got` is accepted for `want` although !(|got - want| <= tolerance) or the difference is not finite. */
bool ridge_judge_odd(double got, double want, double tolerance, ridge_dtype dtype);

#endif
