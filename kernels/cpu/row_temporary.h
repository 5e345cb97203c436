/* How long a row of fp32 temporaries is: for targets, which size scratch whatever the instruction set, and kernels
 * alike. */
#ifndef RIDGE_KERNELS_CPU_ROW_TEMPORARY_H
#define RIDGE_KERNELS_CPU_ROW_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

enum { ROW_TEMPORARY_GRAIN = 32 }; /* elements: a whole number of pairs of vectors in every instruction set */

static inline int64_t row_temporary_length(int64_t n) {
    return (n + ROW_TEMPORARY_GRAIN - 1) / ROW_TEMPORARY_GRAIN * ROW_TEMPORARY_GRAIN;
}
static inline size_t row_temporary_bytes(int64_t rows, int64_t n) {
    return (size_t)rows * (size_t)row_temporary_length(n) * sizeof(float);
}

#endif
