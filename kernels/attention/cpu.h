/* Attention in fp32 on a CPU. Both variants multiply by the products of cpu/gemm_product.h.
 *
 *   baseline    a head at a time: all scores, their softmax, the product with V, through memory
 *   optimized   64 queries of a head a thread: scores of 256 keys at a time stay in L2, with the running maximum and sum */
#ifndef RIDGE_ATTENTION_CPU_H
#define RIDGE_ATTENTION_CPU_H

#include "attention/problem.h"

/* Queries and keys of a block of scores. */
enum { ATTENTION_QUERIES = 64, ATTENTION_KEYS = 256 };

RIDGE_CPU_DECLARE(attention_cpu_baseline);
RIDGE_CPU_DECLARE(attention_cpu_optimized);
RIDGE_CPU_DECLARE(attention_varlen_cpu_baseline);
RIDGE_CPU_DECLARE(attention_varlen_cpu_optimized);
RIDGE_CPU_DECLARE(attention_paged_cpu_baseline);
RIDGE_CPU_DECLARE(attention_paged_cpu_optimized);
size_t attention_cpu_baseline_scratch(const ridge_case *c, int threads);
size_t attention_cpu_scratch(const ridge_case *c, int threads);
void attention_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic);

/* Floats of a thread: scores, sums, and what the products need. */
int64_t attention_thread_floats(int64_t d, int64_t v);
/* And keys and values of a block of scores that lie in pages. */
static inline int64_t attention_page_floats(int64_t d) { return 2 * ATTENTION_KEYS * d; }

#endif
