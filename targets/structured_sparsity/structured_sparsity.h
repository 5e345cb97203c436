/* What the files of this target know of its operands. */
#ifndef STRUCTURED_SPARSITY_H
#define STRUCTURED_SPARSITY_H

#include "gemm/problem.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(structured_sparsity_cpu_baseline);
RIDGE_CPU_DECLARE(structured_sparsity_cpu_optimized);

enum { SPARSE_M, SPARSE_N, SPARSE_K, SPARSE_HALF, SPARSE_WORDS }; /* dims: of k, half, and a 32nd */
enum { SPARSE_A, SPARSE_CODES, SPARSE_B };                        /* inputs; c is out[0] */

/* Rows of A that a CPU thread expands at a time: 128 KiB of them. */
static inline int64_t sparse_rows(int64_t k) {
    const int64_t rows = (1 << 15) / (k > 0 ? k : 1);
    return rows > 144 ? 144 : rows < 8 ? 8 : rows;
}

#endif
