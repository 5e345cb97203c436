/* A product in fp32 on a CPU: the ways of cpu/gemm_product.h, for targets whose dims, options and tensors are those of
 * problem.h. */
#ifndef RIDGE_GEMM_CPU_H
#define RIDGE_GEMM_CPU_H

#include "cpu/gemm_product.h"
#include "gemm/problem.h"

RIDGE_CPU_DECLARE(gemm_cpu_baseline);
RIDGE_CPU_DECLARE(gemm_cpu_optimized);
RIDGE_CPU_DECLARE(gemm_terms_cpu_baseline); /* of gemm_epilogue */

enum { GEMM_CPU_WAYS = GEMM_WAY_COUNT };
extern const ridge_way gemm_cpu_ways[GEMM_CPU_WAYS]; /* own: a gemm_way */
extern const ridge_way gemm_terms_cpu_ways[GEMM_CPU_WAYS];

#endif
