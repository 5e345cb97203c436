/* Softmax of rows with a scale, a mask or a triangle, and its logarithm: what targets and kernels have in common.
 *
 *   z = scale x, or scale x + mask
 *   y = exp(z - max z) / sum, or with `log` its logarithm
 *
 * causal: q, 0 for none: rows come in groups of q, and row i of a group sees cols - q + i + 1 columns; the others are
 * as if they were -infinity. */
#ifndef RIDGE_KERNELS_MODEL_ROW_SOFTMAX_H
#define RIDGE_KERNELS_MODEL_ROW_SOFTMAX_H

#include <stdint.h>

/* Options; a target with a mask has no causal one. */
enum { ROW_SOFTMAX_SCALE, ROW_SOFTMAX_LOG, ROW_SOFTMAX_CAUSAL };

/* The row_cut of every type. */
#define ROW_SOFTMAX_CUT \
    { 16, 16, false }

/* Columns that a row sees. */
static inline int64_t row_softmax_seen(int64_t row, int64_t cols, int64_t causal) {
    return causal > 0 ? cols - causal + row % causal + 1 : cols;
}

#endif
