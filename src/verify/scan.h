/* Scans of whole tensors: poison, non-finite values, damaged guards, changed inputs, largest value. Internal to
 * verify. */
#ifndef RIDGE_VERIFY_SCAN_H
#define RIDGE_VERIFY_SCAN_H

#include "verify/view.h"

/* Rows with a non-finite element, encoded as row * RIDGE_MAX_RANK + row dimension; the first few of each thread. */
enum { RIDGE_ODD_ROWS = 64 };

typedef struct ridge_scan {
    int64_t poison_output; /* output with the first unwritten element; -1: none */
    int64_t poison_place;  /* its index in memory order */
    int64_t odd[RIDGE_ODD_ROWS];
    int n_odd;
} ridge_scan;

/* Scans all outputs for poison and for rows with NaN or infinity. */
void ridge_scan_outputs(const ridge_operands *ops, ridge_team *team, ridge_scan *scan);

/* Finds the first guard byte that was written to; false: none. *where: bytes from the tensor's first element. */
bool ridge_scan_guards(const ridge_operands *ops, ridge_team *team, int *tensor, int64_t *where);

/* Returns the first index in [first, first + n), in memory order, where input `tensor` differs from its fill; -1:
 * none. */
int64_t ridge_scan_changed(const ridge_operands *ops, int tensor, int64_t first, int64_t n);

/* Bits that are all set only in NaN and infinity (the exponent mask); for integers, the bits of poison. */
uint64_t ridge_scan_odd_bits(ridge_dtype dtype);

/* Largest finite |value| of an input; 0 when it has none. */
double ridge_scan_max(const ridge_operands *ops, int tensor, ridge_team *team);

#endif
