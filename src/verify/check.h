/* Checks one run of a variant: all outputs were written, nothing else was, and each element is within its bound of the
 * fp64 oracle. All comparisons fail on NaN; these files are compiled with strict floating point. */
#ifndef RIDGE_VERIFY_CHECK_H
#define RIDGE_VERIFY_CHECK_H

#include "verify/operands.h"

typedef struct ridge_check {
    bool ok;
    double worst;         /* largest error / permitted error; above 1 is wrong */
    double max_abs_error; /* largest |got - want| */
    double max_rel_error; /* largest |got - want| / |want| where want != 0 */
    int64_t rows_checked; /* rows compared with the oracle */
    int64_t rows;         /* all rows */
    char text[200];       /* if not ok: "out y[3,17] = 0.25, want 0.5 ± 1e-7", "out y[0,4] was never written", … */
} ridge_check;

/* Checks every element of every output against the oracle, the guards, and that the inputs are unchanged (they are
 * regenerated from the seed). */
ridge_status ridge_check_full(const ridge_operands *ops, ridge_team *team, ridge_check *check, ridge_error *error);
/* The same answer, ended early by a wrong element: its errors are those of what was looked at until then. */
ridge_status ridge_check_until_wrong(const ridge_operands *ops, ridge_team *team, ridge_check *check,
                                     ridge_error *error);

/* Checks every element for poison and finiteness, the guards, and `rows` rows drawn with row_seed against the oracle.
 * Outputs with another first dimension than 0 are checked on the same fraction of their rows. */
ridge_status ridge_check_sample(const ridge_operands *ops, uint64_t row_seed, int64_t rows, ridge_team *team,
                                ridge_check *check, ridge_error *error);

/* The rows to check, per dimension that is the first of an output. */
typedef struct ridge_rows {
    int64_t *row[RIDGE_MAX_RANK]; /* ascending */
    int64_t n[RIDGE_MAX_RANK];    /* 0 where no output has that first dimension */
    int64_t *memory;
} ridge_rows;

/* Draws `wanted` rows of dimension 0 and the same fraction of other row dimensions, and adds the non-finite rows of a
 * scan (encoded as ridge_scan.odd). The caller frees rows->memory. */
ridge_status ridge_rows_choose(const ridge_operands *ops, uint64_t seed, int64_t wanted, const int64_t *odd, int n_odd,
                               ridge_rows *rows, ridge_error *error);

/* True if the check needs only the listed rows of an input: every output has the input's row dimension. */
static inline bool ridge_input_listed(const ridge_target *target, int input) {
    return target->in[input].by_row && ridge_target_leads(target) == 1u << target->in[input].dim[0];
}

/* The parts of a sample's check, also used for operands in GPU memory, which are scanned there.
 *
 * ridge_rows_draw draws `wanted` distinct rows of `all`, ascending. If wanted <= all / 4, the first and the last row,
 * where tiles end, are included with probability 1/2 each. ridge_rows_distinct sorts a list and removes duplicates.
 * ridge_check_rows checks the listed rows of the host's copy: inputs unchanged, outputs within bounds. The
 * ridge_check_tell functions write the text for a scan's finding. */
int64_t ridge_rows_draw(uint64_t seed, int64_t wanted, int64_t all, int64_t *rows);
int64_t ridge_rows_distinct(int64_t *rows, int64_t n);
ridge_status ridge_check_rows(const ridge_operands *ops, const ridge_rows *rows, ridge_team *team, ridge_check *check,
                              ridge_error *error);
void ridge_check_tell_guard(const ridge_operands *ops, int tensor, int64_t where, ridge_check *check);
void ridge_check_tell_unwritten(const ridge_operands *ops, int output, int64_t place, ridge_check *check);

/* Compares two runs on identical inputs: they agree if they differ by at most the sum of their bounds. */
typedef struct ridge_agreement {
    bool agree;
    double max_difference; /* largest |a - b| */
    double equal_fraction; /* fraction of bit-identical elements */
} ridge_agreement;
ridge_status ridge_check_agree(const ridge_operands *a, const ridge_operands *b, ridge_team *team,
                               ridge_agreement *agreement, ridge_error *error);

/* Cost estimate of ridge_check_full in oracle FLOP. The harness uses it to avoid full checks that take too long. */
double ridge_check_full_cost(const ridge_target *target, const ridge_case *c);

#endif
