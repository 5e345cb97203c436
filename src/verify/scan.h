/* Scans over whole tensors: for poison and non-finite values, for damaged guards, for changed inputs, for the largest
 * value. Internal to verify. */
#ifndef RIDGE_VERIFY_SCAN_H
#define RIDGE_VERIFY_SCAN_H

#include "verify/view.h"

/* Rows with an element that is not finite, as row * RIDGE_MAX_RANK + their dimension: the first few that each thread
 * meets. */
enum { RIDGE_ODD_ROWS = 64 };

typedef struct ridge_scan {
    int64_t poison_output; /* the first place never written; -1: none */
    int64_t poison_place;  /* in the order of memory */
    int64_t odd[RIDGE_ODD_ROWS];
    int n_odd;
} ridge_scan;

/* All outputs: poison, and rows that hold NaN or infinity. */
void ridge_scan_outputs(const ridge_operands *ops, ridge_team *team, ridge_scan *scan);

/* The first tensor and byte of a guard that was written to. where: bytes from the tensor's first element. */
bool ridge_scan_guards(const ridge_operands *ops, ridge_team *team, int *tensor, int64_t *where);

/* The first place of input `tensor` in [first, first + n), in the order of memory, that does not hold what fill wrote;
 * -1: none. */
int64_t ridge_scan_changed(const ridge_operands *ops, int tensor, int64_t first, int64_t n);

/* The bits that are all set in NaN and infinity and in nothing else; of integers, those of poison. */
uint64_t ridge_scan_odd_bits(ridge_dtype dtype);

/* Largest finite |value| of an input; 0 when it has none. */
double ridge_scan_max(const ridge_operands *ops, int tensor, ridge_team *team);

#endif
