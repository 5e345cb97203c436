/* What the files of this target know of its operands. */
#ifndef STRUCTURED_SPARSITY_H
#define STRUCTURED_SPARSITY_H

#include "gemm/problem.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(structured_sparsity_cpu_baseline);
RIDGE_CPU_DECLARE(structured_sparsity_cpu_optimized);

enum { SPARSE_M, SPARSE_N, SPARSE_K, SPARSE_HALF, SPARSE_WORDS }; /* dims: of k, half, and a 32nd */
enum { SPARSE_A, SPARSE_CODES, SPARSE_B };                        /* inputs; c is out[0] */

#endif
