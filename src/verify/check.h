/* The verdict on one run of a variant: were all outputs written, is nothing else touched, is each element within its
 * bound of the fp64 oracle. All comparisons are written so that NaN fails; these files are compiled with strict
 * floating point. */
#ifndef RIDGE_VERIFY_CHECK_H
#define RIDGE_VERIFY_CHECK_H

#include "verify/operands.h"

typedef struct ridge_check {
    bool ok;
    double worst;         /* largest error / permitted error seen; above 1 is wrong */
    double max_abs_error; /* largest |got - want| */
    double max_rel_error; /* largest |got - want| / |want| where want != 0 */
    int64_t rows_checked; /* rows compared with the oracle */
    int64_t rows;         /* rows there are */
    char text[200];       /* when not ok: "out y[3,17] = 0.25, want 0.5 ± 1e-7", "out y[0,4] was never written", … */
} ridge_check;

/* Every element of every output against the oracle; guards; inputs unchanged (made again from the seed). */
ridge_status ridge_check_full(const ridge_operands *ops, ridge_team *team, ridge_check *check, ridge_error *error);

/* Every element for poison and finiteness, guards, and `rows` rows drawn with row_seed against the oracle; of outputs
 * with another first dimension than 0 as large a share of their rows. */
ridge_status ridge_check_sample(const ridge_operands *ops, uint64_t row_seed, int64_t rows, ridge_team *team,
                                ridge_check *check, ridge_error *error);

/* Rows to look at, of each dimension that leads outputs. */
typedef struct ridge_rows {
    int64_t *row[RIDGE_MAX_RANK]; /* in order */
    int64_t n[RIDGE_MAX_RANK];    /* 0 where no output has that first dimension */
    int64_t *memory;
} ridge_rows;

/* `wanted` rows of dimension 0, as large a share of others, and those that a scan found odd (as ridge_scan.odd). Free
 * rows->memory. */
ridge_status ridge_rows_choose(const ridge_operands *ops, uint64_t seed, int64_t wanted, const int64_t *odd, int n_odd,
                               ridge_rows *rows, ridge_error *error);

/* Whether only the listed rows of an input need to be looked at: all outputs have its rows. */
static inline bool ridge_input_listed(const ridge_target *target, int input) {
    return target->in[input].by_row && ridge_target_leads(target) == 1u << target->in[input].dim[0];
}

/* The parts of a sample's check, for operands that lie elsewhere (GPU memory) and are scanned there: `wanted` distinct
 * rows of `all`, in order, the first and the last, where tiles end, in every other draw; a list made distinct; the
 * listed rows of the host's copy, inputs unchanged and outputs within bounds; and the words for what a scan found. */
int64_t ridge_rows_draw(uint64_t seed, int64_t wanted, int64_t all, int64_t *rows);
int64_t ridge_rows_distinct(int64_t *rows, int64_t n);
ridge_status ridge_check_rows(const ridge_operands *ops, const ridge_rows *rows, ridge_team *team, ridge_check *check,
                              ridge_error *error);
void ridge_check_tell_guard(const ridge_operands *ops, int tensor, int64_t where, ridge_check *check);
void ridge_check_tell_unwritten(const ridge_operands *ops, int output, int64_t place, ridge_check *check);

/* Two runs on identical inputs against each other: are they within the sum of their bounds. */
typedef struct ridge_agreement {
    bool agree;
    double max_difference; /* largest |a - b| */
    double equal_fraction; /* elements equal bit for bit */
} ridge_agreement;
ridge_status ridge_check_agree(const ridge_operands *a, const ridge_operands *b, ridge_team *team,
                               ridge_agreement *agreement, ridge_error *error);

/* Cost estimate of ridge_check_full, in oracle FLOPs: lets the harness decide when full checks are too dear. */
double ridge_check_full_cost(const ridge_target *target, const ridge_case *c);

#endif
