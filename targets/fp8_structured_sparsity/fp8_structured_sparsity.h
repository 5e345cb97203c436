/* What the files of this target know of its operands. */
#ifndef RIDGE_FP8_STRUCTURED_SPARSITY_H
#define RIDGE_FP8_STRUCTURED_SPARSITY_H

#include "ridge/target.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(fp8_structured_sparsity_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_structured_sparsity_cpu_optimized);

enum { SPARSE_M, SPARSE_N, SPARSE_K, SPARSE_HALF, SPARSE_WORDS, SPARSE_ONE };        /* dims: of k, half, and a 32nd */
enum { SPARSE_A, SPARSE_CODES, SPARSE_A_SCALE, SPARSE_B, SPARSE_B_SCALE, SPARSE_C }; /* tensors; c is out[0] */

#endif
