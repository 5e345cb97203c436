/* A product on a CPU, for targets whose dims, options and tensors are those of problem.h: in fp32 the ways of
 * cpu/gemm_product.h and gemm_shared.h; in bf16, for gemm alone, those of cpu/gemm_bf16.h. */
#ifndef RIDGE_GEMM_CPU_H
#define RIDGE_GEMM_CPU_H

#include "cpu/gemm_product.h"
#include "gemm/problem.h"

RIDGE_CPU_DECLARE(gemm_cpu_baseline);
RIDGE_CPU_DECLARE(gemm_cpu_optimized);
RIDGE_CPU_DECLARE(gemm_terms_cpu_baseline); /* of gemm_epilogue */

RIDGE_CPU_DECLARE(gemm_cpu_shared);
RIDGE_CPU_DECLARE(gemm_cpu_bf16);

#if defined(__x86_64__)
enum { GEMM_BF16_CPU_WAYS = 2 };
#else
enum { GEMM_BF16_CPU_WAYS = 1 };
#endif
enum { GEMM_TERMS_CPU_WAYS = GEMM_WAY_COUNT + 1, GEMM_CPU_WAYS = GEMM_TERMS_CPU_WAYS + GEMM_BF16_CPU_WAYS };
extern const ridge_way gemm_cpu_ways[GEMM_CPU_WAYS]; /* own: a gemm_way; of bf16: whether widened */
extern const ridge_way gemm_terms_cpu_ways[GEMM_TERMS_CPU_WAYS];

ridge_plan gemm_cpu_bf16_plan(const ridge_way *way, const ridge_problem *p);
const char *gemm_cpu_bf16_lacks(void); /* of the way by vdpbf16ps */

#endif
