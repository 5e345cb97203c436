/* What the files of this target know of its operands. */
#ifndef STRUCTURED_SPARSITY_FFN_H
#define STRUCTURED_SPARSITY_FFN_H

#include "gemm/problem.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(structured_sparsity_ffn_cpu_baseline);
RIDGE_CPU_DECLARE(structured_sparsity_ffn_cpu_optimized);

/* dims: rows, width, hidden width, twice that; of the two widths half, and a 32nd */
enum {
    SPARSE_FFN_M,
    SPARSE_FFN_D,
    SPARSE_FFN_F,
    SPARSE_FFN_BOTH,
    SPARSE_FFN_D_HALF,
    SPARSE_FFN_D_WORDS,
    SPARSE_FFN_F_HALF,
    SPARSE_FFN_F_WORDS
};
enum { SPARSE_FFN_X, SPARSE_FFN_W1, SPARSE_FFN_W1_CODES, SPARSE_FFN_W2, SPARSE_FFN_W2_CODES }; /* inputs */

#endif
