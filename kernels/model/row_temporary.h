/* Length of a row of fp32 temporaries, the same for every instruction set. Used by targets, which size scratch, and by
 * kernels. */
#ifndef RIDGE_KERNELS_MODEL_ROW_TEMPORARY_H
#define RIDGE_KERNELS_MODEL_ROW_TEMPORARY_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { ROW_TEMPORARY_GRAIN = 32 }; /* elements: a whole number of pairs of vectors in every instruction set */

enum { ROW_REDUCE_PIECE = 2048 }; /* elements summed in fp32 before fp64 takes over */

/* Relative error of a sum of n numbers of one sign, in units of the fp32 roundoff: six standard deviations of eight chains,
 * each a random walk of n / 8 roundings of a sum that grows evenly. 17 is also the largest error of 32 roundings that all
 * err alike, as those of few distinct values may: on a CPU no chain is longer (cpu/row.h). */
static inline double row_sum_error(int64_t n) {
    return 1.0 + sqrt((double)(n < ROW_REDUCE_PIECE ? n : (int64_t)ROW_REDUCE_PIECE) / 8.0);
}

static inline int64_t row_temporary_length(int64_t n) {
    return (n + ROW_TEMPORARY_GRAIN - 1) / ROW_TEMPORARY_GRAIN * ROW_TEMPORARY_GRAIN;
}
/* Two temporary rows per thread. A CPU delays a load whose lowest twelve address bits equal those of a recent store (4K
 * aliasing). Rows of tensors often start on pages. The temporaries start a third and two thirds of a page later, so
 * that the bits differ at the same place of all three rows. */
enum { ROW_PAGE = 1024, ROW_THIRD = 336 }; /* elements; the third is a whole number of lines */

static inline int64_t row_page_up(int64_t n) { return (n + ROW_PAGE - 1) / ROW_PAGE * ROW_PAGE; }
static inline int64_t row_pair_length(int64_t n) { return row_page_up(2 * row_page_up(n) + 3 * ROW_THIRD); }
static inline int64_t row_pair_place(int64_t n, int rank, int k) {
    return rank * row_pair_length(n) + ROW_THIRD + k * (row_page_up(n) + ROW_THIRD);
}

static inline size_t row_temporary_bytes(int64_t rows, int64_t n) {
    return (size_t)rows * (size_t)row_temporary_length(n) * sizeof(float);
}

#endif
